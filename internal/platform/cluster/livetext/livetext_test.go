package livetext_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/platform/cluster/livetext"
	"harness/internal/platform/journal"
	"harness/tests/polling"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const patience = 30 * time.Second

// log is a journal that the test controls.
type log struct {
	mu    sync.Mutex
	head  int64
	fns   map[int]journal.Subscriber
	next  int
	shown chan journal.Event
}

func newLog() *log {
	return &log{fns: map[int]journal.Subscriber{}, shown: make(chan journal.Event, 1000)}
}

// Subscribe implements livetext.Journal.
func (l *log) Subscribe(fn journal.Subscriber) (int64, func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	id := l.next
	l.next++
	l.fns[id] = fn
	return l.head, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.fns, id)
	}
}

// PassOn implements livetext.Journal.
func (l *log) PassOn(choose func() []journal.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range choose() {
		select {
		case l.shown <- e:
		default:
		}
	}
}

func (l *log) store(records ...journal.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.head = records[len(records)-1].Pos
	for _, fn := range l.fns {
		fn(records)
	}
}

// node is a carrier with its port, which other nodes find while its name is in the list.
type node struct {
	*livetext.Carrier
	log                     *log
	server                  *httptest.Server
	unsure                  atomic.Bool
	answers                 atomic.Int64 // status to answer in place of the carrier; 0: the carrier answers
	asked                   atomic.Int64
	sent, received, dropped atomic.Int64
	mu                      sync.Mutex
	sessions                map[string]struct{}
	all                     bool
	lines                   bytes.Buffer // all lines sent to others
}

func newNode(t testing.TB, name string) *node {
	n := &node{log: newLog(), sessions: map[string]struct{}{}}
	count := func(c *atomic.Int64) func(int) { return func(by int) { c.Add(int64(by)) } }
	n.Carrier = livetext.New(livetext.Options{Self: name, Logger: zerolog.Nop(), Poll: 10 * time.Millisecond, Again: 50 * time.Millisecond,
		Watched: func() (map[string]struct{}, bool) {
			n.mu.Lock()
			defer n.mu.Unlock()
			copied := map[string]struct{}{}
			for id := range n.sessions {
				copied[id] = struct{}{}
			}
			return copied, n.all
		},
		Meta:       func(known any) (json.RawMessage, error) { return json.Marshal(known) },
		TakeoverOf: func(e *journal.Event) (string, string, bool) { return "a", "b", e.Type == "taken" },
		CheckLease: func() error {
			if n.unsure.Load() {
				return errors.New("not sure")
			}
			return nil
		},
		Sent: count(&n.sent), Received: count(&n.received), Dropped: count(&n.dropped)})
	n.server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.asked.Add(1)
		if code := int(n.answers.Load()); code != 0 {
			w.WriteHeader(code)
			return
		}
		n.ServeHTTP(w, r)
	}))
	n.server.EnableHTTP2 = true
	n.server.Config.ReadTimeout = time.Minute
	n.server.StartTLS()
	t.Cleanup(func() {
		n.server.CloseClientConnections()
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		n.server.Close()
	})
	return n
}

func (n *node) watch(all bool, sessions ...string) {
	n.mu.Lock()
	n.all = all
	clear(n.sessions)
	for _, id := range sessions {
		n.sessions[id] = struct{}{}
	}
	n.mu.Unlock()
	n.Changed()
}

// others are the nodes that a node finds.
type others map[string]*node

// Runners implements livetext.Nodes.
func (o others) Runners(context.Context) (names []string, err error) {
	for name := range o {
		names = append(names, name)
	}
	return names, nil
}

// Open implements livetext.Nodes.
func (o others) Open(ctx context.Context, name, path string, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, o[name].server.URL+path, body)
	if err != nil {
		return nil, err
	}
	response, err := o[name].server.Client().Do(request)
	if err == nil {
		response.Body = &recordedBody{response.Body, o[name]}
	}
	return response, err
}

// recordedBody records what another node reads from this one.
type recordedBody struct {
	io.ReadCloser
	of *node
}

func (h *recordedBody) Read(p []byte) (int, error) {
	n, err := h.ReadCloser.Read(p)
	h.of.mu.Lock()
	defer h.of.mu.Unlock()
	h.of.lines.Write(p[:n])
	return n, err
}

// sentOf counts the lines of a session that were sent to others.
func (n *node) sentOf(session string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return bytes.Count(n.lines.Bytes(), []byte(`{"of":"`+session+`"}`))
}

func (n *node) start(t testing.TB, found others) {
	t.Helper()
	for range 2 {
		if err := n.Start(t.Context(), n.log, found); err != nil {
			t.Fatal(err)
		}
	}
}

// two returns a node that sends, and a node that follows it.
func two(t testing.TB) (a, b *node) {
	a, b = newNode(t, "a"), newNode(t, "b")
	a.start(t, others{})
	b.start(t, others{"a": a})
	return a, b
}

func said(session, text string) journal.Event {
	return journal.Event{SessionID: session, Type: "x", Known: map[string]string{"of": session}, Payload: json.RawMessage(text)}
}

// awaitShown sends an event repeatedly until it is shown.
func awaitShown(t testing.TB, a, b *node, session string) {
	t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		a.Enqueue(b.log.Head(), []journal.Event{said(session, `"again"`)})
		select {
		case e := <-b.log.shown:
			if e.SessionID == session {
				return
			}
		case <-tick.C:
		case <-deadline:
			t.Fatalf("no event of %s is shown", session)
		}
	}
}

// Head returns the position of the last stored event.
func (l *log) Head() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.head
}

// quiet discards everything sent so far, up to a marker.
func quiet(t testing.TB, a, b *node) {
	t.Helper()
	mark := fmt.Sprint(time.Now().UnixNano())
	a.Enqueue(b.log.Head(), []journal.Event{said("s", mark)})
	if got := next(t, b, func(e journal.Event) bool { return string(e.Payload) == mark }); got.SessionID != "s" {
		t.Fatal(got)
	}
}

func next(t testing.TB, b *node, fits func(journal.Event) bool) journal.Event {
	t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case e := <-b.log.shown:
			if fits(e) {
				return e
			}
		case <-deadline:
			t.Fatal("it is not shown")
		}
	}
}

// Another node shows exactly the events that its clients follow, byte for byte and in order, once it has the events
// stored before them.
func TestFollowedSessionsAreShown(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	b.watch(false, "s")
	awaitShown(t, a, b, "s")
	quiet(t, a, b)
	a.Enqueue(0, []journal.Event{said("other", `1`), said("s", ` { "a" :  "<\u00e9>" } `), said("s", `2`)})
	a.Enqueue(5, []journal.Event{said("s", `3`)})
	first := next(t, b, func(journal.Event) bool { return true })
	if string(first.Payload) != ` { "a" :  "<\u00e9>" } ` || string(first.Meta) != `{"of":"s"}` || first.Type != "x" {
		t.Errorf("received %+v", first)
	}
	if e := next(t, b, func(journal.Event) bool { return true }); string(e.Payload) != `2` {
		t.Errorf("received %s", e.Payload)
	}
	if len(b.log.shown) != 0 {
		t.Error("it is shown before what is stored before it")
	}
	b.log.store(journal.Record{Pos: 4}, journal.Record{Pos: 5})
	if e := next(t, b, func(journal.Event) bool { return true }); string(e.Payload) != `3` {
		t.Errorf("received %s", e.Payload)
	}
	if got := a.sentOf("other"); got != 0 {
		t.Errorf("%d were sent of a session that is not followed", got)
	}
	b.watch(true)
	awaitShown(t, a, b, "other")
	wait(t, "all that was sent is counted", func() bool {
		return a.sentOf("other") > 0 && a.sent.Load() == int64(a.sentOf("other")+a.sentOf("s"))
	})
}

// A node without a lease sends nothing and shows nothing; nor does a former owner of a session.
func TestNodeWithoutLeaseSendsNothing(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	b.watch(true)
	awaitShown(t, a, b, "s")
	quiet(t, a, b)
	for _, n := range []*node{a, b} {
		n.unsure.Store(true)
		before := n.dropped.Load()
		a.Enqueue(0, []journal.Event{said("s", `"unsure"`)})
		wait(t, "it is given up", func() bool { return n.dropped.Load() > before })
		n.unsure.Store(false)
	}
	a.log.store(journal.Record{Event: journal.Event{SessionID: "s2", Type: "taken"}, Pos: 1})
	a.Enqueue(0, []journal.Event{said("s2", `"of another"`)})
	a.Enqueue(0, []journal.Event{said("s", `"end"`)})
	if e := next(t, b, func(journal.Event) bool { return true }); string(e.Payload) != `"end"` {
		t.Errorf("received %s of %s", e.Payload, e.SessionID)
	}
}

// A node that does not read blocks no other node: events that it cannot accept are dropped.
func TestSlowNodeBlocksNoOther(t *testing.T) {
	t.Parallel()
	a := newNode(t, "a")
	a.start(t, others{})
	body, says := io.Pipe()
	defer func() { _ = says.Close() }()
	answer, err := others{"a": a}.Open(t.Context(), "a", livetext.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := says.Write([]byte("{\"all\":true}\n")); err != nil {
		t.Fatal(err)
	}
	large := `"` + string(make([]byte, 64<<10)) + `"`
	wait(t, "it is given up", func() bool {
		a.Enqueue(0, []journal.Event{said("s", large)})
		return a.dropped.Load() > 10
	})
}

// A node that ends, returns, or does not have the route is tried again.
func TestANodeIsAskedAgain(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	b.watch(true)
	awaitShown(t, a, b, "s")
	for _, code := range []int64{http.StatusNotFound, http.StatusForbidden, http.StatusServiceUnavailable} {
		a.answers.Store(code)
		asked := a.asked.Load()
		a.server.CloseClientConnections()
		wait(t, "it is asked again", func() bool { return a.asked.Load() >= asked+2 })
		a.answers.Store(0)
		awaitShown(t, a, b, "s")
	}
}

// Stop ends requests of others at any time, and may be called twice.
func TestStoppingAtAnyTime(t *testing.T) {
	t.Parallel()
	for round := range 30 {
		a, b := newNode(t, "a"), newNode(t, "b")
		both := others{"a": a, "b": b}
		var running sync.WaitGroup
		for _, n := range []*node{a, b} {
			running.Go(func() { n.start(t, both); n.watch(true, fmt.Sprint(round)) })
			running.Go(func() {
				for i := range 50 {
					n.Enqueue(0, []journal.Event{said("s", fmt.Sprint(i))})
					n.log.store(journal.Record{Pos: int64(i + 1)})
				}
			})
			for range 2 {
				running.Go(func() {
					if err := n.Stop(context.Background()); err != nil {
						t.Error(err)
					}
				})
			}
		}
		running.Wait()
	}
}

// An invalid line from another node ends the connection and nothing else.
func TestWhatCannotBeReadEndsTheConnection(t *testing.T) {
	t.Parallel()
	a := newNode(t, "a")
	a.start(t, others{})
	body, says := io.Pipe()
	answer, err := others{"a": a}.Open(t.Context(), "a", livetext.Path, body)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := says.Write([]byte("no JSON\n")); err != nil {
		t.Fatal(err)
	}
	if lines := bufio.NewScanner(answer.Body); lines.Scan() {
		t.Errorf("it says %q", lines.Text())
	}
	_ = says.Close()
}

func wait(t testing.TB, what string, is func() bool) {
	t.Helper()
	if !polling.Until(patience, is) {
		t.Fatalf("not so: %s", what)
	}
}

// The CPU time of one delta on both nodes together, and the time until it is shown.
func BenchmarkDelta(b *testing.B) {
	from, to := two(b)
	to.watch(false, "s")
	awaitShown(b, from, to, "s")
	quiet(b, from, to)
	line := `{"method":"item/agentMessage/delta","params":{"threadId":"t","turnId":"u","itemId":"i","delta":"` + string(make([]byte, 40)) + `"}}`
	spaced := time.NewTicker(10 * time.Millisecond)
	defer spaced.Stop()
	var took []time.Duration
	before := cpu(b)
	for b.Loop() {
		<-spaced.C
		began := time.Now()
		from.Enqueue(0, []journal.Event{said("s", line)})
		<-to.log.shown
		took = append(took, time.Since(began))
	}
	b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(b.N), "cpu-µs/op")
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
}

func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
