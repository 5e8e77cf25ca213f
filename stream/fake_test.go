package stream

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/journal"
)

// patience bounds every wait of the tests; only a failure takes that long.
const patience = 60 * time.Second

// memoryJournal is a journal without a store, for faults and for speed; the same tests run on the real one elsewhere.
type memoryJournal struct {
	mu          sync.Mutex
	records     []journal.Record
	seqs        map[string]int64
	oldest      int64
	subscribers map[int]journal.Subscriber
	listeners   map[int]journal.EphemeralSubscriber
	next        int
	fail        error
	late        []journal.Record // committed by another process, and not yet delivered
	isLate      bool
	reads       int
	forgetful   bool // keeps no records: for benchmarks
	pending     atomic.Bool
}

func newMemoryJournal() *memoryJournal {
	return &memoryJournal{seqs: map[string]int64{}, oldest: 1, subscribers: map[int]journal.Subscriber{},
		listeners: map[int]journal.EphemeralSubscriber{}}
}

func (m *memoryJournal) Append(_ context.Context, events ...journal.Event) ([]journal.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var added []journal.Record
	for _, event := range events {
		m.seqs[event.SessionID]++
		added = append(added, journal.Record{Event: event, Pos: int64(len(m.records)) + 1, Seq: m.seqs[event.SessionID]})
		if m.records = append(m.records, added[len(added)-1]); m.forgetful {
			m.records[len(m.records)-1] = journal.Record{}
		}
	}
	if m.isLate {
		m.late = append(m.late, added...)
		return added, nil
	}
	for _, fn := range m.subscribers {
		fn(added)
	}
	return added, nil
}

// lag withholds records from subscribers, or delivers the withheld ones.
func (m *memoryJournal) lag(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.isLate = on; !on {
		for _, fn := range m.subscribers {
			fn(m.late)
		}
		m.late = nil
	}
}

func (m *memoryJournal) Subscribe(fn journal.Subscriber) (int64, func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.next
	m.next++
	m.subscribers[id] = fn
	return int64(len(m.records)), func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.subscribers, id)
	}
}

func (m *memoryJournal) PublishEphemeral(events ...journal.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, fn := range m.listeners {
		fn(events)
	}
}

func (m *memoryJournal) SubscribeEphemeral(fn journal.EphemeralSubscriber) func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := m.next
	m.next++
	m.listeners[id] = fn
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.listeners, id)
	}
}

func (m *memoryJournal) Pending() bool { return m.pending.Load() }

func (m *memoryJournal) Bounds(context.Context) (int64, int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.oldest, int64(len(m.records)), m.fail
}

func (m *memoryJournal) Read(ctx context.Context, query journal.Query) ([]journal.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reads++
	if m.fail != nil {
		return nil, m.fail
	}
	var out []journal.Record
	for _, rec := range m.records[max(0, min(query.After, int64(len(m.records)))):] {
		if rec.Pos < m.oldest || query.Session != "" && rec.SessionID != query.Session && rec.SessionID != "" &&
			!rec.Broadcast {
			continue
		}
		if out = append(out, rec); len(out) == query.Limit {
			break
		}
	}
	return out, ctx.Err()
}

func (m *memoryJournal) prune(oldest int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.oldest = oldest
}

func (m *memoryJournal) failWith(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail = err
}

// fakeConn is a connection whose peer reads as the test requires.
type fakeConn struct {
	mu       sync.Mutex
	changed  sync.Cond
	received []string
	messages []*Message
	blocked  bool // the peer does not read
	taking   bool // a write waits for the peer
	begun    *Message
	room     int // messages until the connection breaks, -1 for never
	code     int
	aborted  bool
	pings    int
	dead     bool
	writes   int
}

var errBroken = errors.New("broken by the test")

func newFakeConn() *fakeConn {
	f := &fakeConn{room: -1}
	f.changed.L = &f.mu
	return f
}

// Write implements Conn. For a peer that does not read, it starts the first message and refuses the rest.
func (f *fakeConn) Write(messages []*Message) (sent int, full bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if f.begun != nil {
		panic("a write before the last one was waited for")
	}
	for i, message := range messages {
		if f.blocked && !f.aborted && f.code == 0 {
			f.begun, f.taking = message, true
			f.changed.Broadcast()
			return i + 1, true, nil
		}
		if !f.accept(message) {
			return i, false, errBroken
		}
	}
	return len(messages), false, nil
}

// Wait implements Conn.
func (f *fakeConn) Wait() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.blocked && !f.aborted && f.code == 0 {
		f.changed.Wait()
	}
	message := f.begun
	f.begun, f.taking = nil, false
	if message != nil && !f.accept(message) {
		return errBroken
	}
	return nil
}

// accept records the arrival of one message; f.mu is held.
func (f *fakeConn) accept(message *Message) bool {
	if f.room == 0 || f.aborted {
		return false
	}
	if f.room > 0 {
		f.room--
	}
	f.received = append(f.received, string(message.Text()))
	f.messages = append(f.messages, message)
	f.changed.Broadcast()
	return true
}

func (f *fakeConn) set(change func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change()
	f.changed.Broadcast()
}

func (f *fakeConn) Ping()                    { f.set(func() { f.pings++ }) }
func (f *fakeConn) Alive() bool              { f.mu.Lock(); defer f.mu.Unlock(); return !f.dead }
func (f *fakeConn) Close(code int, _ string) { f.set(func() { f.code = code }) }
func (f *fakeConn) Abort()                   { f.set(func() { f.aborted = true }) }

// wait blocks until the condition holds; what names the condition.
func (f *fakeConn) wait(t *testing.T, what string, condition func() bool) {
	t.Helper()
	late := time.AfterFunc(patience, func() { f.set(func() {}) })
	defer late.Stop()
	start := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !condition() {
		if time.Since(start) >= patience {
			t.Fatalf("waited in vain for %s; received %d: %v", what, len(f.received), f.received)
		}
		f.changed.Wait()
	}
}

func (f *fakeConn) texts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.received...)
}

// startHub runs a hub over a journal until the end of the test.
func startHub(t *testing.T, source Journal, opts Options) *Hub {
	t.Helper()
	opts.Logger = zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)
	h := NewHub(source, opts)
	if err := h.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopHub(t, h) })
	return h
}

func stopHub(t *testing.T, h *Hub) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := h.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// join attaches a fake connection whose reader lives until the client ends.
func join(t *testing.T, h *Hub, filter string, after ...int64) (*client, *fakeConn) {
	t.Helper()
	conn := newFakeConn()
	var at *resumeStatus
	if len(after) > 0 {
		status, err := h.compare(t.Context(), cursor{after: after[0]})
		if err != nil {
			t.Fatal(err)
		}
		at = &status
	}
	c, err := h.attach(conn, filter, textMessage("ready"), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-c.done
		h.detach(c)
	}()
	return c, conn
}

// plainEvent returns an event with one frame, whose text identifies it.
func plainEvent(thread, text string) journal.Event {
	payload, _ := json.Marshal(text)
	return journal.Event{Type: "transcript_updated", SessionID: thread, Payload: payload}
}

func broadcastEvent(thread, text string) journal.Event {
	event := plainEvent(thread, text)
	event.Broadcast = true
	return event
}

func systemOwned(event journal.Event) journal.Event {
	event.Meta = EncodeMeta(Meta{SystemOwned: true})
	return event
}

// tokenEvent returns an event with three frames.
func tokenEvent(thread, text string) journal.Event {
	params, _ := json.Marshal(text)
	return Upcast(1, journal.Event{
		Type: EventNotification, SessionID: thread, Meta: EncodeMeta(Meta{ReceivedAt: 1}),
		Payload: json.RawMessage(`{"method":"thread/tokenUsage/updated","params":` + string(params) + `}`),
	})
}

// accountEvent returns a global event with three frames, of which the middle one is a broadcast.
func accountEvent(text string) journal.Event {
	params, _ := json.Marshal(text)
	return Upcast(1, journal.Event{
		Type: EventNotification, Broadcast: true, Meta: EncodeMeta(Meta{ReceivedAt: 1}),
		Payload: json.RawMessage(`{"method":"account/updated","params":` + string(params) + `}`),
	})
}

func appendAll(t *testing.T, j interface {
	Append(ctx context.Context, events ...journal.Event) ([]journal.Record, error)
}, events ...journal.Event,
) {
	t.Helper()
	if _, err := j.Append(t.Context(), events...); err != nil {
		t.Fatal(err)
	}
}

// attach adds a connection with a filter of the stream.
func (h *Hub) attach(conn Conn, filter string, first *Message, at *resumeStatus, reach Reach) (*client, error) {
	return h.attachTo(conn, func() audience { return h.byThread(filter, reach) }, first, at, reach)
}
