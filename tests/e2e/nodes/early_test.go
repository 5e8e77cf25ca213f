package nodes

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/polling"
	"harness/tests/programtest"
)

// grown returns the agent's texts that a client with a cursor has, by item, and how many deltas arrived before they
// were stored.
func grown(frames []programtest.Frame) (texts map[string]string, early int) {
	texts = map[string]string{}
	for _, f := range frames {
		if f.Type != "notification" || programtest.Text(f.Decoded(), "method") != programtest.AgentDelta {
			continue
		}
		if f.Pos == 0 {
			early++
		}
		item := programtest.Text(f.Decoded(), "params", "itemId")
		texts[item] = texts[item][:*f.Offset] + programtest.Text(f.Decoded(), "params", "delta") // ASCII
	}
	return texts, early
}

// textOf returns the text that a client without a cursor got. No part may arrive twice.
func textOf(frames []programtest.Frame) (text string) {
	for _, f := range frames {
		if f.Type == "notification" && programtest.Text(f.Decoded(), "method") == programtest.AgentDelta {
			text += programtest.Text(f.Decoded(), "params", "delta")
		}
	}
	return text
}

// one returns a client's only text.
func one(t *testing.T, texts map[string]string) (text string) {
	t.Helper()
	if len(texts) != 1 {
		t.Fatalf("there are %d texts: %q", len(texts), texts)
	}
	for _, text = range texts {
		continue
	}
	return text
}

// Another node's clients get an agent's text delta by delta, like the owner's clients.
func TestAnotherNodeShowsTextBeforeItIsStored(t *testing.T) {
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(nil)
	own, other := n.a.Follow("after=0&threadId="+session), n.b.Follow("after=0&threadId="+session)
	plain, all := n.b.Follow("threadId="+session), n.b.Follow("")
	const words = 60
	turn := n.a.Send(session, "MOCK_SLOW[60,30]")
	arrivals := func(f *programtest.Follower) map[string]time.Time {
		at := map[string]time.Time{}
		for range words {
			frame := f.Wait("a word", func(f programtest.Frame) bool {
				return f.Type == "notification" && programtest.Text(f.Decoded(), "method") == programtest.AgentDelta
			})
			if now := time.Now(); frame.Pos == 0 {
				at[programtest.Text(frame.Decoded(), "params", "delta")] = now
			}
			if strings.Contains(frame.Raw, "word59 ") {
				break
			}
		}
		return at
	}
	var owners, others map[string]time.Time
	var following sync.WaitGroup
	following.Go(func() { owners = arrivals(own) })
	following.Go(func() { others = arrivals(other) })
	following.Wait()
	for _, f := range []*programtest.Follower{own, other, plain, all} {
		if status := f.FindTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
	}
	want, _ := grown(own.All())
	text, early := grown(other.All())
	if one(t, text) != one(t, want) || !strings.HasSuffix(one(t, want), "word59 ") {
		t.Errorf("the other node's client has %q, the owner's %q", text, want)
	}
	for who, f := range map[string]*programtest.Follower{"one that follows all": all, "one without a cursor": plain} {
		if got := textOf(f.All()); got != one(t, want) {
			t.Errorf("%s has %q", who, got)
		}
	}
	if early < words/2 {
		t.Errorf("%d of %d words came before they were stored", early, words)
	}
	var later []time.Duration
	for word, at := range others {
		if first, is := owners[word]; is {
			later = append(later, at.Sub(first))
		}
	}
	if len(later) == 0 {
		t.Fatal("no word came early to both")
	}
	slices.Sort(later)
	t.Logf("%d of %d words come early; a word is shown by the other node p50 %v p90 %v after its owner shows it", early, words,
		later[len(later)/2], later[len(later)*9/10])
	if n.a.Metric(`harness_nodes_early_total{what="sent"}`) == 0 || n.b.Metric(`harness_nodes_early_total{what="received"}`) == 0 {
		t.Error("nothing is counted")
	}
}

// A server that is killed in the middle of a text sends the unstored part again. Clients of other nodes get it once.
func TestAKilledOwnerRepeatsNoText(t *testing.T) {
	t.Parallel()
	n := newNodes(t, withPort(), programtest.WithRaceDetector())
	session := n.a.CreateSession(nil)
	plain, other := n.b.Follow("threadId="+session), n.b.Follow("after=0&threadId="+session)
	const words = 400
	turn := n.a.Send(session, "MOCK_SLOW[400,40]")
	for range 3 {
		before := n.b.Metric(`harness_nodes_early_total{what="received"}`)
		n.b.Eventually("words come early", func() bool { return n.b.Metric(`harness_nodes_early_total{what="received"}`) > before+5 })
		n.a.Kill()
		n.a = n.siteA.Start()
	}
	var want strings.Builder
	for i := range words {
		fmt.Fprintf(&want, "word%d ", i)
	}
	for _, f := range []*programtest.Follower{plain, other} {
		if status := f.FindTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
	}
	if got := textOf(plain.All()); got != want.String() {
		t.Errorf("a client without a cursor has %q", got)
	}
	if text, _ := grown(other.All()); one(t, text) != want.String() {
		t.Errorf("one with a cursor has %q", text)
	}
}

// link is a connection to a node that a test can cut.
type link struct {
	listener net.Listener
	to       string
	running  sync.WaitGroup
	mu       sync.Mutex
	open     []net.Conn
	cut      bool
}

func newLink(t *testing.T, to string) *link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &link{listener: listener, to: to}
	l.running.Go(l.accept)
	t.Cleanup(func() {
		_ = l.listener.Close()
		l.set(true)
		l.running.Wait()
	})
	return l
}

func (l *link) accept() {
	for {
		from, err := l.listener.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", l.to)
		l.mu.Lock()
		if err != nil || l.cut {
			_ = from.Close()
			if err == nil {
				_ = to.Close()
			}
			l.mu.Unlock()
			continue
		}
		l.open = append(l.open, from, to)
		l.mu.Unlock()
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			l.running.Go(func() {
				_, _ = io.Copy(pair[0], pair[1])
				_ = pair[0].Close()
			})
		}
	}
}

// set cuts the link, or allows new connections again.
func (l *link) set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if cut {
		for _, conn := range l.open {
			_ = conn.Close()
		}
		l.open = nil
	}
}

// Cutting a link in the middle of a text loses and repeats no text for the other node's clients.
func TestALinkThatIsCutLeavesTheTextRight(t *testing.T) {
	t.Parallel()
	n := &nodes{siteA: programtest.New(t, withPort(), programtest.WithRaceDetector(), programtest.WithEngine(database.Postgres))}
	n.a = n.siteA.Start()
	db := dbtest.Connect(t, n.siteA.Store())
	var address string
	if err := db.Read().QueryRowContext(t.Context(), `select address from nodes`).Scan(&address); err != nil {
		t.Fatal(err)
	}
	way := newLink(t, address)
	if err := db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(), `update nodes set address = $1`, way.listener.Addr().String())
		return err
	}); err != nil {
		t.Fatal(err)
	}
	n.siteB = programtest.New(t, withPort(), programtest.WithRaceDetector(), programtest.WithDatabaseOf(n.siteA))
	n.b = n.siteB.Start()
	n.a.WaitRuntime()
	session := n.a.CreateSession(nil)
	own, other := n.a.Follow("after=0&threadId="+session), n.b.Follow("after=0&threadId="+session)
	plain := n.b.Follow("threadId=" + session)
	turn := n.a.Send(session, "MOCK_SLOW[250,40]")
	received := func() float64 { return n.b.Metric(`harness_nodes_early_total{what="received"}`) }
	early := func(more float64) {
		before := received()
		if !polling.Until(programtest.Patience, func() bool { return received() >= before+more }) {
			t.Fatal("no word comes early")
		}
	}
	early(5)
	way.set(true)
	other.Wait("a word while the link is cut", func(f programtest.Frame) bool {
		return strings.Contains(f.Raw, `"`+programtest.AgentDelta+`"`) && f.Pos != 0
	})
	way.set(false)
	early(5)
	for _, f := range []*programtest.Follower{own, other, plain} {
		if status := f.FindTurn(turn); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
	}
	want, _ := grown(own.All())
	if text, _ := grown(other.All()); one(t, text) != one(t, want) || !strings.HasSuffix(one(t, want), "word249 ") {
		t.Errorf("the other node's client has %q, the owner's %q", text, want)
	}
	if got := textOf(plain.All()); got != one(t, want) {
		t.Errorf("one without a cursor has %q", got)
	}
}
