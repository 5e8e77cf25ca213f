package stream

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// startJournal runs the real journal over a store.
func startJournal(t *testing.T, db *database.DB) *journal.Journal {
	t.Helper()
	j := journal.New(db, journal.Options{Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)})
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopJournal(t, j) })
	return j
}

func stopJournal(t *testing.T, j *journal.Journal) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := j.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// Every resume status, by query and by command: the client gets the resume status first, then exactly the missed
// frames, then live ones, all with pos and seq.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := startJournal(t, db)
		_, server := serve(t, j, Options{}, HandlerOptions{})
		frame := func(thread, text string, pos, seq int) string {
			return fmt.Sprintf(`{"type":"transcript_updated","threadId":"%s","payload":"%s","pos":%d,"seq":%d}`, thread,
				text, pos, seq)
		}
		// The journal is still empty.
		dial(t, server, "?after=latest").want(readyNull, `{"type":"resumed","from":0,"to":0}`)
		dial(t, server, "?after=1").want(readyNull, `{"type":"ahead","from":1,"to":0}`)

		appendAll(t, j, plainEvent("A", "1"), plainEvent("B", "2"), plainEvent("A", "3"), tokenEvent("A", "4"))
		const readyA = `{"type":"ready","threadId":"A"}`
		all := dial(t, server, "?after=0")
		all.want(readyNull, `{"type":"resumed","from":0,"to":79}`, frame("A", "1", 16, 1), frame("B", "2", 32, 1),
			frame("A", "3", 48, 2))
		resumed := dial(t, server, "?threadId=A&after=16")
		resumed.want(readyA, `{"type":"resumed","from":16,"to":79}`, frame("A", "3", 48, 2))
		middle := dial(t, server, "?threadId=A&after=64") // the second of event 4's three frames is owed
		middle.want(readyA, `{"type":"resumed","from":64,"to":79}`)
		if text := middle.read(); !strings.HasPrefix(text, `{"type":"thread_token_usage_updated"`) ||
			!strings.HasSuffix(text, `,"pos":65,"seq":3}`) {
			t.Errorf("got %s", text)
		}
		dial(t, server, "?after=4096").want(readyNull, `{"type":"ahead","from":4096,"to":79}`)
		latest := dial(t, server, "?after=latest")
		latest.want(readyNull, `{"type":"resumed","from":79,"to":79}`)
		command := dial(t, server, "?threadId=B")
		command.want(`{"type":"ready","threadId":"B"}`)
		command.send(`{"type":"subscribe","threadId":"A","after":32}`)
		command.want(`{"type":"resumed","from":32,"to":79}`, frame("A", "3", 48, 2))
		command.read()
		command.read()
		command.read()
		appendAll(t, j, plainEvent("B", "5"), plainEvent("A", "6"))
		command.want(frame("A", "6", 96, 4))
		latest.want(frame("B", "5", 80, 2), frame("A", "6", 96, 4))
		// A plain subscribe keeps pos and seq on, and null selects every thread.
		command.send(`{"type":"subscribe","threadId":"B"}`)
		command.sync()
		appendAll(t, j, plainEvent("A", "7"), plainEvent("B", "8"))
		command.want(frame("B", "8", 128, 3))
		command.send(`{"type":"subscribe","threadId":null,"after":"latest"}`)
		command.want(`{"type":"resumed","from":143,"to":143}`)
		appendAll(t, j, plainEvent("A", "9"))
		command.want(frame("A", "9", 144, 6))

		// After pruning: the resume status reports it, then come the remaining frames.
		if _, err := j.Prune(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		dial(t, server, "?threadId=A&after=16").want(readyA, `{"type":"gap","from":16,"to":159,"oldest":112}`,
			frame("A", "7", 112, 5), frame("A", "9", 144, 6))
		dial(t, server, "?after=0").want(readyNull, `{"type":"gap","from":0,"to":159,"oldest":112}`, frame("A", "7", 112, 5))
		dial(t, server, "?after=111").want(readyNull, `{"type":"resumed","from":111,"to":159}`, frame("A", "7", 112, 5))
	})
}

// A gap found while a client catches up is reported at its position. A client without positions is closed
// instead.
func TestPrunedWhileCatchingUp(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{RingFrames: 1, CatchUpPage: 2})
	_, withPositions := join(t, h, "A", 0)
	_, plain := join(t, h, "A")
	for _, conn := range []*fakeConn{withPositions, plain} {
		conn.wait(t, "its first frames", func() bool { return len(conn.received) > 0 })
	}
	withPositions.wait(t, "the resume status", func() bool { return len(withPositions.received) == 2 })
	for _, conn := range []*fakeConn{withPositions, plain} {
		conn.set(func() { conn.blocked = true })
	}
	for n := range 20 {
		appendAll(t, j, plainEvent("A", fmt.Sprint(n)))
		if n == 0 { // accepted, so that the start of the gap is known
			for _, conn := range []*fakeConn{withPositions, plain} {
				conn.wait(t, "the first event", func() bool { return conn.taking })
			}
		}
	}
	j.prune(18)
	for _, conn := range []*fakeConn{withPositions, plain} {
		conn.set(func() { conn.blocked = false })
	}
	withPositions.wait(t, "the rest", func() bool { return len(withPositions.received) == 2+1+1+3 })
	want := []string{"0", "gap", "17", "18", "19"}
	if got := shown(t, withPositions.texts()[2:]); !reflect.DeepEqual(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := withPositions.texts()[3], `{"type":"gap","from":31,"to":335,"oldest":288}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	plain.wait(t, "the close", func() bool { return plain.code == closeSlow })
}

// A cursor may be ahead of the last event that this process has published, because another process committed it. That
// is no reason to repeat anything.
func TestCursorAheadOfTheHub(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	appendAll(t, j, plainEvent("A", "1"))
	j.lag(true)
	appendAll(t, j, plainEvent("A", "2"), plainEvent("A", "3"))
	_, middle := join(t, h, "A", endOf(2))
	_, end := join(t, h, "A", endOf(3))
	_, start := join(t, h, "A", 0)
	for _, conn := range []*fakeConn{middle, end, start} {
		conn.wait(t, "the resume status", func() bool { return len(conn.received) >= 2 })
	}
	j.lag(false)
	appendAll(t, j, plainEvent("A", "4"))
	for conn, want := range map[*fakeConn][]string{middle: {"3", "4"}, end: {"4"}, start: {"1", "2", "3", "4"}} {
		conn.wait(t, "the rest", func() bool { return len(conn.received) >= 2+len(want) })
		if got := shown(t, conn.texts()[2:]); !reflect.DeepEqual(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Over real sockets and stores: random disconnects at any time, filter changes, resumes by query and by command, and
// restarts of the server. Every client's frames equal the reference.
func TestResumeOverSockets(t *testing.T) {
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		db := dbtest.Open(t, engine)
		s := &site{t: t, db: db}
		s.start()
		for seed := range uint64(25) {
			s.walk(seed)
			if seed%5 == 4 {
				s.stop()
				s.start()
			}
		}
		s.stop()
	})
}

// site is a server that can be restarted over the same store.
type site struct {
	t       *testing.T
	db      *database.DB
	journal *journal.Journal
	hub     *Hub
	server  *httptest.Server
}

func (s *site) start() {
	s.journal = startJournal(s.t, s.db)
	s.hub, s.server = serve(s.t, s.journal, Options{RingFrames: 3, CatchUpPage: 5}, HandlerOptions{})
}

func (s *site) stop() {
	stopHub(s.t, s.hub)
	s.server.Close()
	stopJournal(s.t, s.journal)
}

func (s *site) records() []journal.Record {
	s.t.Helper()
	var all []journal.Record
	for {
		after := int64(0)
		if len(all) > 0 {
			after = all[len(all)-1].Pos
		}
		page, err := s.journal.Read(s.t.Context(), journal.Query{After: after})
		if err != nil {
			s.t.Fatal(err)
		}
		if len(page) == 0 {
			return all
		}
		all = append(all, page...)
	}
}

// walk is a client's life of eight connections, while another goroutine publishes.
func (s *site) walk(seed uint64) {
	s.t.Helper()
	random := rand.New(rand.NewPCG(seed, 11)) //nolint:gosec // reproducible on purpose
	published := make(chan error, 1)
	go func() {
		publisher := rand.New(rand.NewPCG(seed, 13)) //nolint:gosec // reproducible on purpose
		for n := range 60 {
			if _, err := s.journal.Append(context.Background(), randomEvent(publisher, eventName(seed, n))); err != nil {
				published <- err
				return
			}
		}
		published <- nil
	}()
	last := s.cursorBefore()
	type segment struct {
		*session
		got []string
	}
	var life []segment
	for connection := range 8 {
		filter := randomFilter(random)
		p, limit := s.resume(last, filter, connection%2 == 0), random.IntN(12)
		now := segment{session: newSession(last, filter)}
		if connection == 7 {
			// The last connection reads to the end.
			if err := <-published; err != nil {
				s.t.Fatal(err)
			}
			limit = len(now.expected(s.t, s.records()))
		}
		// A broadcast passes every filter: once it arrives, no frame that the client waits for is still due.
		sentinel := fmt.Sprintf(`"sentinel %d.%d"`, seed, connection)
		if connection < 7 {
			appendAll(s.t, s.journal, broadcastEvent("", strings.Trim(sentinel, `"`)))
		}
		for len(now.got) < limit {
			now.got = append(now.got, p.read())
			if strings.Contains(now.got[len(now.got)-1], sentinel) {
				break
			}
		}
		if len(now.got) > 0 {
			last = positionOf(s.t, now.got[len(now.got)-1])
		}
		_ = p.ws.CloseNow()
		life = append(life, now)
	}
	records := s.records()
	for n, segment := range life {
		want := segment.expected(s.t, records)
		if n < len(life)-1 {
			want = want[:min(len(segment.got), len(want))]
		}
		requireEqual(s.t, fmt.Sprintf("seed %d, connection %d", seed, n), segment.got, want)
	}
}

func (s *site) cursorBefore() int64 {
	_, head, err := s.journal.Bounds(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return endOf(max(0, head-20))
}

// resume connects by query, or connects elsewhere and resumes by command.
func (s *site) resume(last int64, filter string, byQuery bool) *peer {
	s.t.Helper()
	if byQuery {
		p := dial(s.t, s.server, fmt.Sprintf("?after=%d&threadId=%s", last, filter))
		p.read()
		s.resumeStatus(p, last)
		return p
	}
	p := dial(s.t, s.server, "?threadId=B")
	p.read()
	thread := "null"
	if filter != "" {
		thread = `"` + filter + `"`
	}
	p.send(fmt.Sprintf(`{"type":"subscribe","threadId":%s,"after":%d}`, thread, last))
	s.resumeStatus(p, last)
	return p
}

// resumeStatus reads up to the resume status: frames of the old filter may come before it.
func (s *site) resumeStatus(p *peer, last int64) {
	s.t.Helper()
	for {
		text := p.read()
		if strings.HasPrefix(text, fmt.Sprintf(`{"type":"resumed","from":%d,`, last)) {
			return
		}
		if strings.Contains(text, `"pos":`) || strings.HasPrefix(text, `{"type":"gap"`) &&
			!strings.Contains(text, `"skipped":`) || strings.HasPrefix(text, `{"type":"ahead"`) {
			s.t.Fatalf("instead of the resume status: %s", text)
		}
	}
}
