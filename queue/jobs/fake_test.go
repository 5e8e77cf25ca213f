package jobs_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
	"harness/queue/jobs"
	"harness/tests/dbtest"
	"harness/tests/polling"
	"harness/transcript"
)

const patience = 60 * time.Second

// answer is a worker's reaction to a message: it returns the worker's text, or an error that fails its turn. done ends
// when the turn is interrupted.
type answer func(done <-chan struct{}, message string) (string, error)

// fakeSessions implements package session with workers that answer immediately. Transcripts are real rows.
type fakeSessions struct {
	journal *journal.Journal

	mu           sync.Mutex
	made         int
	gone         map[string]bool
	turns        map[string]*fakeTurn
	sent         []string // "<session> <message>"
	asked        []session.Request
	settled      []string
	created      []session.Create
	titles       map[string]string
	noItems      bool // turns have no items
	interrupt    int
	answer       answer
	policy       jobs.AgentPolicy
	refusal      error
	instructions []session.Message
	refuses      []error // the errors for the next messages
	// unreadable is the number of reads of each kind that fail; reads counts the reads.
	unreadable int
	maxTurns   int // of a worker's session
	reads      map[string]int
}

func (f *fakeSessions) policyOf(string) (jobs.AgentPolicy, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.policy, f.refusal
}

type fakeTurn struct {
	session string
	state   session.TurnState
	text    string
	ended   chan struct{}
	ending  sync.Once
}

func (t *fakeTurn) end() { t.ending.Do(func() { close(t.ended) }) }

const source = "source-1"

func (f *fakeSessions) Lookup(_ context.Context, id string) (session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.unread("lookup"); err != nil {
		return session.Session{}, err
	}
	if f.gone[id] {
		return session.Session{}, &session.DeletedError{SessionID: id}
	}
	var made int
	if _, err := fmt.Sscanf(id, "worker-%d", &made); err == nil && made <= len(f.created) {
		return session.Session{ID: id, Runtime: f.created[made-1].Runtime}, nil
	}
	return session.Session{ID: id, Title: "A chat", Cwd: "/src"}, nil
}

func (f *fakeSessions) Create(_ context.Context, in session.Create) (session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.made++
	f.created = append(f.created, in)
	return session.Session{ID: fmt.Sprintf("worker-%d", f.made), SystemOwned: in.SystemOwned}, nil
}

func (f *fakeSessions) Rename(_ context.Context, id, title string) (session.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.titles[id] = title
	return session.Session{ID: id}, nil
}

func (f *fakeSessions) AssignProject(_ context.Context, id string, projectID *string) (session.Session, error) {
	return session.Session{ID: id, ProjectID: projectID}, nil
}

func (f *fakeSessions) Projects(context.Context) ([]session.Project, error) {
	directory := "/project"
	return []session.Project{{ID: "p", Name: "Project", WorkingDirectory: &directory}}, nil
}

func (f *fakeSessions) Send(ctx context.Context, id string, message session.Message) (session.Sent, error) {
	f.mu.Lock()
	if f.gone[id] {
		f.mu.Unlock()
		return session.Sent{}, fmt.Errorf("send: %w", runtime.ErrThreadNotFound)
	}
	if len(f.refuses) > 0 && message.Text == "Do it." {
		err := f.refuses[0]
		f.refuses = f.refuses[1:]
		f.mu.Unlock()
		return session.Sent{}, err
	}
	turnID := fmt.Sprintf("turn-%d", len(f.turns)+1)
	turn := &fakeTurn{session: id, state: session.TurnState{Status: runtime.TurnInProgress}, ended: make(chan struct{})}
	f.turns[turnID] = turn
	f.sent = append(f.sent, id+" "+message.Text)
	f.instructions = append(f.instructions, message)
	act, noItems := f.answer, f.noItems
	f.mu.Unlock()
	go func() {
		if !noItems {
			f.publish(id, "item-1")
		}
		text, err := act(turn.ended, message.Text)
		f.mu.Lock()
		turn.text, turn.state = text, session.TurnState{Status: runtime.TurnDone}
		if err != nil {
			turn.state = session.TurnState{Status: runtime.TurnFailed, Error: err.Error(), Kind: err}
			select {
			case <-turn.ended:
				turn.state.Status = runtime.TurnInterrupted
			default:
			}
		}
		f.mu.Unlock()
		f.publish(id, "")
	}()
	return session.Sent{TurnID: turnID}, nil
}

// publish appends an event of a session; it ignores the error of a stopped journal.
func (f *fakeSessions) publish(id, item string) {
	_, _ = f.journal.Append(context.Background(), journal.Event{SessionID: id, ItemID: item, Type: "runtime.fake"})
}

// unread returns the error of a read while the store is unreachable: the first unreadable reads of each kind fail.
func (f *fakeSessions) unread(kind string) error {
	if f.reads == nil {
		f.reads = map[string]int{}
	}
	if f.reads[kind]++; f.reads[kind] <= f.unreadable {
		return fmt.Errorf("read %s: %w", kind, driver.ErrBadConn)
	}
	return nil
}

func (f *fakeSessions) TurnMark(_ context.Context, id string) (session.TurnMark, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mark(id), f.unread("mark")
}

func (f *fakeSessions) mark(id string) (mark session.TurnMark) {
	for n := range len(f.turns) {
		if turnID := fmt.Sprintf("turn-%d", n+1); f.turns[turnID].session == id {
			mark.Turns, mark.Newest = mark.Turns+1, turnID
		}
	}
	return mark
}

func (f *fakeSessions) TurnSince(_ context.Context, id string, mark session.TurnMark) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.unread("since"); err != nil || f.mark(id) == mark {
		return "", err
	}
	return f.mark(id).Newest, nil
}

func (f *fakeSessions) Delete(_ context.Context, id string) (session.Deleted, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.gone[id] = true
	return session.Deleted{SessionID: id}, nil
}

func (f *fakeSessions) Interrupt(_ context.Context, _, turnID string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.interrupt++
	turn, known := f.turns[turnID]
	if !known {
		return "", session.ErrNoActiveTurn
	}
	turn.end()
	return turnID, nil
}

func (f *fakeSessions) Turn(_ context.Context, _, turnID string) (session.TurnState, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.unread("turn"); err != nil {
		return session.TurnState{}, false, err
	}
	turn, known := f.turns[turnID]
	if !known {
		return session.TurnState{}, false, nil
	}
	return turn.state, true, nil
}

func (f *fakeSessions) Read(_ context.Context, id string, want session.Reading) (detail session.Detail, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	detail.Session.ID = id
	for n := max(0, len(f.turns)-want.Window.Limit); n < len(f.turns); n++ {
		turnID := fmt.Sprintf("turn-%d", n+1)
		if text := f.turns[turnID].text; text != "" {
			detail.Transcript = append(detail.Transcript,
				transcript.Entry{MessageID: "m-" + turnID, TurnID: turnID, Role: "assistant", Content: text,
					Status: transcript.Complete})
		}
	}
	return detail, f.unread("session")
}

func (f *fakeSessions) TurnEntries(_ context.Context, _, turnID string) ([]transcript.Entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.unread("entries"); err != nil {
		return nil, err
	}
	turn := f.turns[turnID]
	if turn == nil || turn.text == "" {
		return nil, nil
	}
	return []transcript.Entry{{MessageID: "m-" + turnID, TurnID: turnID, Role: "assistant", Content: turn.text,
		Status: transcript.Complete}}, nil
}

func (f *fakeSessions) Pending(_ context.Context, id string) ([]session.Request, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.unread("requests")
	var pending []session.Request
	for _, request := range f.asked {
		if request.SessionID == id {
			pending = append(pending, request)
		}
	}
	return pending, nil
}

func (f *fakeSessions) Settle(_ context.Context, id string, kind runtime.RequestKind, reply runtime.Reply, by string) (
	session.Request, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, request := range f.asked {
		if request.ID == id {
			f.asked = append(f.asked[:i:i], f.asked[i+1:]...)
			f.settled = append(f.settled, fmt.Sprintf("%s %s %t by %s", kind, reply.Decision, reply.Success, by))
			return request, nil
		}
	}
	return session.Request{}, session.ErrRequestNotFound
}

func (f *fakeSessions) UpsertTranscript(ctx context.Context, id string, entry transcript.Entry) error {
	_, err := f.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return f.UpsertTranscriptIn(ctx, tx, id, entry)
	})
	return err
}

func (f *fakeSessions) UpsertTranscriptIn(ctx context.Context, tx database.Tx, id string, entry transcript.Entry) (
	[]journal.Event, error) {
	if present, _ := f.PresentIn(ctx, tx, id); !present {
		return nil, nil
	}
	merged, changed, err := transcript.Store{}.Upsert(ctx, tx, id, entry)
	if err != nil || !changed {
		return nil, err
	}
	payload, err := json.Marshal(merged)
	return []journal.Event{{SessionID: id, ItemID: entry.MessageID, Type: "transcript_updated", Payload: payload}}, err
}

func (f *fakeSessions) PresentIn(_ context.Context, _ database.Tx, id string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.gone[id], nil
}

func (f *fakeSessions) messages() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.sent...)
}

// bench is a queue with the product's job types over fake sessions.
type bench struct {
	t           *testing.T
	db          *database.DB
	journal     *journal.Journal
	sessions    *fakeSessions
	queue       *queue.Queue
	workers     *jobs.Workers
	suggestions *jobs.Suggestions
	suggester   *jobs.Suggester
}

func ready(<-chan struct{}, string) (string, error) { return "READY", nil }

func newBench(t *testing.T, db *database.DB, change ...func(*jobs.Options, *fakeSessions)) *bench {
	t.Helper()
	j := journal.New(db, journal.Options{Logger: zerolog.Nop(), PollInterval: 20 * time.Millisecond})
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f := &fakeSessions{journal: j, gone: map[string]bool{}, turns: map[string]*fakeTurn{}, titles: map[string]string{},
		answer: ready}
	b := &bench{t: t, db: db, journal: j, sessions: f, suggestions: jobs.NewSuggestions(db, j, f, nil)}
	options := jobs.Options{Sessions: jobs.Sessions{Transcripts: f, SessionStore: f, Turns: f, Conversations: f}, Journal: j, Suggestions: b.suggestions, SuggestEnabled: true,
		SuggestWait: time.Minute, Timing: jobs.Timing{Turn: patience, Poll: 20 * time.Millisecond,
			IncludeTurns: 100 * time.Millisecond, UntrustedTerminal: 100 * time.Millisecond, EmptyTurn: patience},
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.ErrorLevel)}
	for _, edit := range change {
		edit(&options, f)
	}
	b.workers = jobs.NewWorkers(jobs.WorkersOptions{DB: db, Journal: j, Sessions: options.Sessions, NodeID: "node", Policies: f.policyOf,
		MaxTurns: f.maxTurns, Logger: options.Logger})
	options.Workers = b.workers
	b.queue = queue.New(queue.Options{Journal: j, DB: db, NodeID: "node", Definitions: jobs.Definitions(options),
		Logger: zerolog.Nop(), Poll: 50 * time.Millisecond, Drain: 100 * time.Millisecond,
		Policy: queue.Policy{CancelGrace: 500 * time.Millisecond}})
	b.suggester = jobs.NewSuggester(b.suggestions, b.queue, options.SuggestWait)
	if err := b.queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.stop)
	return b
}

func (b *bench) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(b.queue.Stop(ctx), b.journal.Stop(ctx)); err != nil {
		b.t.Error(err)
	}
}

func each(t *testing.T, test func(t *testing.T, db *database.DB)) {
	t.Helper()
	t.Parallel()
	dbtest.EachEngine(t, func(t *testing.T, engine database.Engine) {
		test(t, dbtest.Open(t, engine))
	})
}

// object is a JSON object of a test.
type object = map[string]any

// instruct queues an instruction with these members changed and waits for its end.
func (b *bench) instruct(change object) queue.Job {
	b.t.Helper()
	return b.wait(b.enqueue(change).ID)
}

func (b *bench) enqueue(change object) queue.Job {
	b.t.Helper()
	payload := object{"agent": "supervisor", "jobKind": "review", "projectId": "p", "sourceSessionId": source,
		"threadId": source, "turnId": "t-1", "instructionText": "Do it."}
	for name, value := range change {
		payload[name] = value
	}
	encoded, err := json.Marshal(payload)
	if err != nil {
		b.t.Fatal(err)
	}
	result, err := b.queue.Enqueue(b.t.Context(), jobs.NewRequest(jobs.TypeAgentInstruction, "p", nil, encoded))
	if err != nil {
		b.t.Fatal(err)
	}
	return result.Job
}

func (b *bench) wait(id string) queue.Job {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	job, err := b.queue.WaitForTerminal(ctx, id)
	if err != nil {
		b.t.Fatalf("job %s is %s: %v", id, job.State, err)
	}
	return job
}

func (b *bench) upsert(entry transcript.Entry) {
	b.t.Helper()
	if err := b.sessions.UpsertTranscript(b.t.Context(), source, entry); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) entry(id string) transcript.Entry {
	b.t.Helper()
	entry, _, err := transcript.Store{}.Find(b.t.Context(), b.db.Read(), source, id)
	if err != nil {
		b.t.Fatal(err)
	}
	return entry
}

// failure returns a job's error, "" for none.
func failure(job queue.Job) string {
	if job.Error == nil {
		return ""
	}
	return *job.Error
}

// entries are all stored entries of a session.
func (b *bench) entries(sessionID string) []transcript.Entry {
	b.t.Helper()
	entries, err := transcript.Store{}.List(b.t.Context(), b.db.Read(), sessionID)
	if err != nil {
		b.t.Fatal(err)
	}
	return entries
}

// eventually waits for a condition.
func (b *bench) eventually(what string, condition func() bool) {
	b.t.Helper()
	if !polling.Until(patience, condition) {
		b.t.Fatal("in vain: " + what)
	}
}
