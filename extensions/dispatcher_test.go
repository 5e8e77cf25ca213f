package extensions_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/extensions"
	"harness/extensions/sdk"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
	"harness/tests/polling"
	"harness/transcript"
)

// patience bounds a wait that a correct program ends much earlier.
const patience = 60 * time.Second

// seen is one event that a listener received.
type seen struct {
	Type    string
	Payload map[string]any
	raw     string
}

// listener is a native extension that sends every event to a channel and returns a fixed answer.
type listener struct {
	events chan seen
	mu     sync.Mutex
	answer func(eventType string, nth int) any
	count  map[string]int
}

func newListener(answer func(string, int) any) *listener {
	return &listener{events: make(chan seen, 4096), answer: answer, count: map[string]int{}}
}

func (l *listener) extension(types ...string) sdk.Extension {
	return sdk.Extension{ModuleName: "listener", Register: func(on *sdk.Registry) {
		for _, eventType := range types {
			on.On(eventType, l.handle)
		}
	}}
}

func (l *listener) handle(_ context.Context, event sdk.Event, _ sdk.Tools) (any, error) {
	l.mu.Lock()
	l.count[event.Type]++
	nth := l.count[event.Type]
	l.mu.Unlock()
	got := seen{Type: event.Type, raw: string(event.Payload)}
	if err := json.Unmarshal(event.Payload, &got.Payload); err != nil {
		return nil, err
	}
	l.events <- got
	if l.answer == nil {
		return nil, nil
	}
	return l.answer(event.Type, nth), nil
}

func (l *listener) next(t *testing.T) seen {
	t.Helper()
	select {
	case event := <-l.events:
		return event
	case <-time.After(patience):
		t.Fatal("no event came")
		return seen{}
	}
}

func (l *listener) expect(t *testing.T, eventType string) seen {
	t.Helper()
	got := l.next(t)
	if got.Type != eventType {
		t.Fatalf("got %s %s, want %s", got.Type, got.raw, eventType)
	}
	return got
}

func queued(string, int) any {
	return sdk.EnqueueOutcome{Status: sdk.Enqueued, Job: sdk.Job{ID: "j", Type: "t", ProjectID: "p", State: "queued"}}
}

// hosted holds the sessions that a dispatcher knows.
type hosted struct {
	mu      sync.Mutex
	infos   map[string]extensions.SessionInfo
	settled map[string]bool
}

func (r *hosted) Describe(_ context.Context, id string) (extensions.SessionInfo, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if info, ok := r.infos[id]; ok {
		return info, nil
	}
	return extensions.SessionInfo{}, fmt.Errorf("%s: %w", id, extensions.ErrSessionGone)
}

func (r *hosted) RequestPending(_ context.Context, _, id string) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.settled[id], nil
}

// site is a journal with a dispatcher.
type site struct {
	t       *testing.T
	db      *database.DB
	journal *journal.Journal
	hosted  *hosted
}

func newSite(t *testing.T, db *database.DB) *site {
	t.Helper()
	j := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	lifecycletest.Run(t, j)
	project := "p1"
	return &site{t: t, db: db, journal: j,
		hosted: &hosted{settled: map[string]bool{}, infos: map[string]extensions.SessionInfo{
			"s1": {ID: "s1", Title: "One", ProjectID: &project}, "s2": {ID: "s2", Title: "Two"},
			"worker": {ID: "worker", ProjectID: &project, SystemOwned: true},
		}}}
}

// start runs a dispatcher; stop ends it early, otherwise it ends with the test.
func (s *site) start(l *listener, change func(*extensions.DispatcherOptions), types ...string) (
	d *extensions.Dispatcher, r *extensions.Registry, stop func()) {
	s.t.Helper()
	r = registry(s.t, extensions.Options{Native: []sdk.Extension{l.extension(types...)}})
	for _, problem := range r.Load(s.t.Context()) {
		s.t.Fatal(problem)
	}
	opts := extensions.DispatcherOptions{Registry: r, Journal: s.journal, DB: s.db, Sessions: s.hosted, NodeID: "n1",
		Logger: zerolog.Nop(), Retry: []time.Duration{time.Millisecond, 2 * time.Millisecond}}
	if change != nil {
		change(&opts)
	}
	d = extensions.NewDispatcher(opts)
	if err := d.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := d.Stop(ctx); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(stop)
	return d, r, stop
}

func (s *site) append(events ...journal.Event) {
	s.t.Helper()
	if _, err := s.journal.Append(s.t.Context(), events...); err != nil {
		s.t.Fatal(err)
	}
}

func notification(session, turn, line string, meta stream.Meta) journal.Event {
	meta.TurnID = turn
	return stream.Upcast(1, journal.Event{SessionID: session, TurnID: turn, Type: stream.EventNotification,
		Payload: json.RawMessage(line), Meta: stream.EncodeMeta(meta)})
}

func (s *site) fileChange(session, turn, item, request string) {
	meta := stream.Meta{TurnID: turn, RequestID: &request,
		Request: &stream.RequestRef{ID: request, Kind: "approval", Summary: "File change awaits approval", ThreadID: session,
			TurnID: turn, ItemID: item}}
	s.append(stream.Upcast(1, journal.Event{SessionID: session, TurnID: turn, ItemID: item, Type: stream.EventRequest,
		Meta: stream.EncodeMeta(meta),
		Payload: json.RawMessage(`{"id":7,"method":"item/fileChange/requestApproval","params":{"itemId":"` + item +
			`","reason":"why"}}`)}))
}

func (s *site) turnEnd(session, turn string) {
	s.append(notification(session, turn, `{"method":"turn/completed","params":{"threadId":"`+session+`","turn":{"id":"`+
		turn+`"}}}`, stream.Meta{}))
}

func (s *site) entry(session string, entry transcript.Entry) {
	s.t.Helper()
	_, err := s.journal.Commit(s.t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, _, err := transcript.Store{}.Upsert(ctx, tx, session, entry)
		return nil, err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

const marker = "app_server.marker"

// mark appends a signal. Once it is dispatched, everything before it was dispatched.
func (s *site) mark(session string) {
	s.append(notification(session, "", `{"method":"marker"}`, stream.Meta{}))
}

// AS-01, AS-02, AS-07 to AS-15: the signal's payload, and which signals are not dispatched.
func TestSignals_AS13_AS14_AS15(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, l := newSite(t, db), newListener(nil)
		s.start(l, func(o *extensions.DispatcherOptions) { o.Lanes = 1 }, "app_server.turn.started",
			"app_server.request.item.file_change.request_approval", "app_server.config_warning", marker)
		project := "p1"
		ref := &stream.SessionRef{ID: "s1", Title: "One", ProjectID: &project}
		started := `{"method":"turn/started","params":{"threadId":"s1"}}`
		s.append(
			notification("s1", "t1", started, stream.Meta{Purged: true}),
			notification("worker", "t1", started, stream.Meta{SystemOwned: true}),
			notification("s1", "t1", `{"method":"item/agentMessage/delta","params":{}}`, stream.Meta{}),
			notification("s1", "t1", started, stream.Meta{Session: ref, ReceivedAt: 1}),
			notification("", "", `{"jsonrpc":"2.0","method":"configWarning"}`, stream.Meta{ReceivedAt: 1}),
		)
		s.fileChange("s2", "t", "i", "r")
		other := notification("s3", "t1", started, stream.Meta{})
		other.Source = "other"
		s.append(other)
		s.mark("s1")
		if got, want := l.expect(t, "app_server.turn.started").
			raw, `{"source":"app_server","signalType":"notification","eventType":"app_server.turn.started","method":"turn/started",`+
			`"receivedAt":"1970-01-01T00:00:00.001Z","context":{"threadId":"s1","turnId":"t1"},"params":{"threadId":"s1"},`+
			`"session":{"id":"s1","title":"One","projectId":"p1"}}`; got != want {
			t.Errorf("got %s", got)
		}
		global := l.expect(t, "app_server.config_warning")
		if global.Payload["params"] != nil || global.Payload["session"] != nil || strings.Contains(global.raw, "requestId") {
			t.Errorf("AS-10, AS-11, AS-15: %s", global.raw)
		}
		if got := l.expect(t, "app_server.request.item.file_change.request_approval"); got.Payload["requestId"] != "r" ||
			got.Payload["nativeRequestId"] != 7.0 || got.Payload["signalType"] != "request" {
			t.Errorf("AS-09: %s", got.raw)
		}
		if got := l.expect(t, "app_server.turn.started"); got.Payload["runtime"] != "other" ||
			got.Payload["source"] != "other" {
			t.Errorf("another runtime's signal: %s", got.raw)
		}
		l.expect(t, marker)
	})
}

// EX-36, EX-37, EX-38, EX-39, EX-40: the events synthesised from a turn with file changes; a turn without them has no
// turn.completed.
func TestFileChangesAndTurnEnd_EX36_EX37_EX38_EX39_EX40(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, l := newSite(t, db), newListener(queued)
		s.start(l, nil, extensions.EventFileChange, extensions.EventTurnCompleted, marker)
		s.entry("s1", transcript.Entry{MessageID: "u", TurnID: "t1", Role: "user", Type: "userMessage", Content: "do it",
			Status: transcript.Complete})
		s.entry("s1", transcript.Entry{MessageID: "other", TurnID: "t0", Role: "user", Type: "userMessage", Content: "before",
			Status: transcript.Complete})
		s.fileChange("s1", "t1", "item-1", "req-1")
		s.fileChange("s1", "t1", "item-1", "req-2") // the same anchor counts once
		s.turnEnd("s1", "t1")
		s.turnEnd("s1", "t1") // recorded twice, dispatched once
		s.turnEnd("s1", "t2") // no file change
		s.mark("s1")
		got := l.expect(t, extensions.EventFileChange)
		want := `{"context":{"projectId":"p1","sourceSessionId":"s1","threadId":"s1","turnId":"t1","itemId":"item-1",` +
			`"approvalId":"req-1","anchorItemId":"item-1",` +
			`"userRequest":"do it","turnTranscript":"user userMessage: do it"},"summary":"File change awaits approval",` +
			`"details":"{\"itemId\":\"item-1\",\"reason\":\"why\"}",` +
			`"sourceEvent":"approval_request","fileChangeStatus":"pending_approval"}`
		if got.raw != want {
			t.Errorf("got  %s\nwant %s", got.raw, want)
		}
		l.expect(t, extensions.EventFileChange)
		want = `{"context":{"projectId":"p1","sourceSessionId":"s1","threadId":"s1","turnId":"t1","userRequest":"do it"},` +
			`"hadFileChangeRequests":true,` +
			`"turnTranscriptSnapshot":"user userMessage: do it","fileChangeRequestCount":1}`
		if got := l.expect(t, extensions.EventTurnCompleted).raw; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		l.expect(t, marker)
		// Sessions without a project and workers' sessions are not reviewed.
		s.fileChange("s2", "t1", "i", "req-3")
		s.turnEnd("s2", "t1")
		s.fileChange("worker", "t1", "i", "req-4")
		s.turnEnd("worker", "t1")
		s.fileChange("gone", "t1", "i", "req-5")
		s.mark("s2")
		s.mark("worker")
		s.mark("gone")
		for range 3 {
			l.expect(t, marker)
		}
	})
}

// EX-41: for a turn that started before this server did, the stored approval.request rows show that it changes files.
func TestGatingIsRecovered_EX41(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, l := newSite(t, db), newListener(queued)
		details, other := `{"method":"item/fileChange/requestApproval"}`, `{"method":"item/commandExecution/requestApproval"}`
		row := transcript.Entry{MessageID: "approval-1", TurnID: "t1", Role: "system", Type: "approval.request", Content: "x",
			Details: &details, Status: transcript.Complete}
		s.entry("s1", row)
		row.MessageID, row.TurnID, row.Details = "approval-2", "t2", &other
		s.entry("s1", row)
		s.start(l, nil, extensions.EventTurnCompleted, marker)
		s.turnEnd("s1", "t2")
		s.turnEnd("s1", "t1")
		s.mark("s1")
		if got := l.expect(t, extensions.EventTurnCompleted); got.Payload["context"].(map[string]any)["turnId"] != "t1" ||
			got.Payload["fileChangeRequestCount"] != 1.0 {
			t.Errorf("got %s", got.raw)
		}
		l.expect(t, marker)
	})
}

// EX-42: if no handler acts on the event, it is dispatched again, a bounded number of times. Once a handler acts, there
// are no more retries.
func TestTurnEndIsRetried_EX42(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := newSite(t, db)
		l := newListener(func(_ string, nth int) any {
			if nth == 5 {
				return queued("", 0)
			}
			return nil
		})
		s.start(l, nil, extensions.EventTurnCompleted)
		s.fileChange("s1", "t1", "i", "r1")
		s.turnEnd("s1", "t1")
		for range 3 { // the first attempt and two retries, then the dispatcher abandons it
			l.expect(t, extensions.EventTurnCompleted)
		}
		s.fileChange("s1", "t2", "i", "r2")
		s.turnEnd("s1", "t2")
		for range 2 { // a handler acts on the fifth
			if got := l.expect(t, extensions.EventTurnCompleted); got.Payload["context"].(map[string]any)["turnId"] != "t2" {
				t.Fatalf("got %s", got.raw)
			}
		}
		s.waitFor(`select count(*) from extension_dispatches where kind = 'turn.completed' and state in ('done', 'abandoned')`,
			2)
	})
}

// waitFor polls a count until it is as expected.
func (s *site) waitFor(query string, want int) {
	s.t.Helper()
	var got int
	if !polling.Until(patience, func() bool {
		if err := s.db.Read().QueryRowContext(s.t.Context(), query).Scan(&got); err != nil {
			s.t.Fatal(err)
		}
		return got == want
	}) {
		s.t.Fatalf("%s: %d, want %d", query, got, want)
	}
}

// Synthesised events that were not dispatched before the server stopped are dispatched after the next start; plain
// signals are not.
func TestSynthesisedEventsSurviveARestart_EX41(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := newSite(t, db)
		first := newListener(nil)
		_, _, stop := s.start(first, nil, extensions.EventTurnCompleted, marker)
		s.mark("s1")
		first.expect(t, marker)
		stop()
		// The dispatcher is stopped, but the journal still grows.
		s.fileChange("s1", "t1", "i", "r1")
		s.turnEnd("s1", "t1")
		s.mark("s1")
		second := newListener(queued)
		s.start(second, nil, extensions.EventFileChange, extensions.EventTurnCompleted, marker)
		second.expect(t, extensions.EventFileChange)
		second.expect(t, extensions.EventTurnCompleted)
		s.mark("s1")
		second.expect(t, marker)
		if len(second.events) != 0 {
			t.Errorf("%d more events", len(second.events))
		}
	})
}

// EX-38: a file change that arrived without a subscriber is reconciled once there is one, unless it was decided or
// acted on in between.
func TestReconcile_EX38(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s, unsubscribed := newSite(t, db), newListener(nil)
		_, _, stop := s.start(unsubscribed, nil, marker)
		details := `{"method":"item/fileChange/requestApproval","itemId":"item-1"}`
		s.entry("s1", transcript.Entry{MessageID: "approval-r1", TurnID: "t1", Role: "system", Type: "approval.request",
			Content: "sum", Details: &details, Status: transcript.Complete})
		s.fileChange("s1", "t1", "item-1", "r1")
		s.fileChange("s1", "t1", "item-2", "r2")
		s.mark("s1")
		unsubscribed.expect(t, marker)
		s.hosted.settled["r2"] = true
		stop()
		l := newListener(queued)
		d, _, _ := s.start(l, nil, extensions.EventFileChange, marker)
		got := l.expect(t, extensions.EventFileChange)
		if got.Payload["sourceEvent"] != "approvals_reconcile" || got.Payload["summary"] != "sum" ||
			got.Payload["context"].(map[string]any)["anchorItemId"] != "item-1" {
			t.Errorf("got %s", got.raw)
		}
		s.waitFor(`select count(*) from extension_dispatches where state = 'done'`, 2)
		if err := d.Reconcile(t.Context()); err != nil || len(l.events) != 0 {
			t.Errorf("acted on already: %v, %d events", err, len(l.events))
		}
	})
}

// A lane that falls behind loses nothing and keeps the order, and the journal's publisher never waits for it.
func TestSlowExtensionLosesNoSignal(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		s := newSite(t, db)
		gate := make(chan struct{})
		l := newListener(func(string, int) any {
			<-gate
			return nil
		})
		var behind sync.Once
		fellBehind := make(chan struct{})
		s.start(l, func(o *extensions.DispatcherOptions) {
			o.Lanes, o.Queue = 1, 4
			o.Observe = func(int) { behind.Do(func() { close(fellBehind) }) }
		}, "app_server.n")
		const total = 200
		for i := range total {
			// Append returns after the subscribers got the records: it would hang here if publishing waited for the
			// handler.
			s.append(notification("s1", "", fmt.Sprintf(`{"method":"n","params":%d}`, i), stream.Meta{}))
		}
		<-fellBehind
		close(gate)
		var got []float64
		for range total {
			got = append(got, l.expect(t, "app_server.n").Payload["params"].(float64))
		}
		if !slices.IsSorted(got) || got[0] != 0 || got[total-1] != total-1 {
			t.Errorf("got %v", got)
		}
		s.append(notification("s1", "", `{"method":"n","params":-1}`, stream.Meta{}))
		if last := l.expect(t, "app_server.n").Payload["params"]; last != -1.0 {
			t.Errorf("after the catch-up came %v", last)
		}
	})
}
