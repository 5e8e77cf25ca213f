package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/ids"
	"harness/internal/lib/lifecycle"
	"harness/internal/lib/wake"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Finder finds sessions, and reads the files and controls that a task depends on.
type Finder interface {
	Lookup(ctx context.Context, sessionID string) (session.Session, error)
	CheckOwner(session session.Session) error
	// CheckWorkspace refuses a session whose folder an agent cannot use: *session.FolderError.
	CheckWorkspace(ctx context.Context, sessionID string) error
	Sources(ctx context.Context, sessionID string) (session.Sources, error)
}

// Turns begins, finds and ends turns.
type Turns interface {
	Send(ctx context.Context, sessionID string, message session.Message) (session.Sent, error)
	StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error)
	Turn(ctx context.Context, sessionID, turnID string) (session.TurnState, bool, error)
	TurnMark(ctx context.Context, sessionID string) (session.TurnMark, error)
	TurnSince(ctx context.Context, sessionID string, mark session.TurnMark) (turnID string, err error)
}

// Sessions are the sessions that tasks run in.
type Sessions struct {
	Finder
	Turns
}

// Options configure a Service. Journal, DB, Sessions and Operations are required.
type Options struct {
	Journal    *journal.Journal
	DB         *database.DB
	Sessions   Sessions
	Operations *operations.Service
	Limits     Limits
	// Mode is the default of tasks and sessions; "" leaves it to the controls of their session.
	Mode Mode
	// Yolo allows ModeYolo.
	Yolo bool
	// ReportRequests brackets each request to a runtime with events, in tasks that begin from now on.
	ReportRequests bool
	// Artifacts, when set, stores the inputs of runtimes. Tools, when set, returns the tools of this server for agents.
	Artifacts Artifacts
	Tools     func() []Tool
	// Redact, when set, removes what must not be stored from long contents, as the store of Artifacts does.
	Redact func([]byte) []byte
	Logger zerolog.Logger
	// Poll is the interval for polling the store for missed notifications (1 s).
	Poll time.Duration
	// Ended, when set, is called with every task that this service ended. It must not block.
	Ended func(Ended)
	// Clock returns the time; nil means time.Now.
	Clock func() time.Time
}

// Limits bound the unfinished tasks.
type Limits struct {
	// Open is the limit of this store (1,000), PerSession that of one session (32).
	Open, PerSession int
}

// unknownLimit is how long a turn may be unknown to its session: its start may not be stored yet.
const unknownLimit = 10 * time.Second

// Service runs tasks, and reads their events.
type Service struct {
	opts    Options
	journal *journal.Journal
	db      *database.DB
	loops   lifecycle.Loops

	mu      sync.Mutex
	running bool
	lanes   map[string]*lane // sessions with unfinished tasks
	readers map[string]map[wake.Signal]struct{}
	stored  map[string]bool // artifacts of long results, by id
	gone    map[string]bool // deleted sessions, with tasks to delete
	going   wake.Signal
}

// New makes a Service. It does nothing until Start.
func New(options Options) *Service {
	if options.Limits.Open <= 0 {
		options.Limits.Open = 1000
	}
	if options.Limits.PerSession <= 0 {
		options.Limits.PerSession = 32
	}
	if options.Poll <= 0 {
		options.Poll = time.Second
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	s := &Service{opts: options, journal: options.Journal, db: options.DB, lanes: map[string]*lane{},
		readers: map[string]map[wake.Signal]struct{}{}, stored: map[string]bool{}, gone: map[string]bool{}, going: wake.New()}
	s.journal.BeforePrune(s.keepMarks)
	return s
}

// Start resumes the tasks that an earlier server of this node left. Start the sessions first.
func (s *Service) Start(ctx context.Context) error {
	return s.loops.Start(ctx, func(ctx context.Context) error {
		left, err := database.ReadTexts(ctx, s.db.Read(), "read the sessions with tasks",
			`select distinct session_id from tasks where ended_at = 0`)
		if err != nil {
			return err
		}
		_, unsubscribe := s.journal.Subscribe(s.onRecords)
		s.mu.Lock()
		s.running = true
		s.mu.Unlock()
		s.loops.Go(func(running context.Context) {
			defer unsubscribe()
			s.forgetLoop(running)
		})
		for _, id := range left {
			s.wake(id)
		}
		return nil
	})
}

// Stop leaves running tasks to the next server and waits for the goroutines. A second call is allowed.
func (s *Service) Stop(ctx context.Context) error {
	s.mu.Lock()
	s.running = false
	s.mu.Unlock()
	_, err := s.loops.Stop(ctx, "the task service")
	return err
}

func (s *Service) now() int64 { return s.opts.Clock().UnixMilli() }

// newID is a UUIDv7, so that ids sort by time.

// onRecords is the journal subscriber: it wakes the readers and lanes of each session. It never blocks.
func (s *Service) onRecords(records []journal.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range records {
		record := &records[i]
		id := database.DecodeText(record.SessionID)
		for news := range s.readers[id] {
			news.Set()
		}
		// The deltas of an item neither end a turn nor begin one.
		if l := s.lanes[id]; l != nil && record.ItemID == "" {
			l.news.Set()
		}
		if record.Type == sessionDeleted {
			s.gone[id] = true
			s.going.Set()
		}
	}
}

// Create describes a new session.
type Create struct {
	Runtime, Cwd, Model string
	// Mode is the permission mode of its tasks, "" for the server's.
	Mode Mode
	// NonInteractive means that no person is present (session.Controls).
	NonInteractive bool
	// NativeTools selects whether its agent has its own tools (session.Create), "" for on.
	NativeTools string
	// Origin identifies the caller.
	Origin Origin
	// ImplicitSources limits what its agent reads on its own (session.Create). AllowChangedSources lets tasks run even
	// if such a file has changed.
	ImplicitSources     string
	AllowChangedSources bool
}

// CreateSession opens a session. ErrYolo; other errors are those of operations.Create.
func (s *Service) CreateSession(ctx context.Context, in Create) (session.Session, error) {
	if in.Mode == "" {
		in.Mode = s.opts.Mode
	}
	if err := s.allowed(in.Mode); err != nil {
		return session.Session{}, err
	}
	wanted := session.Create{Runtime: in.Runtime, Cwd: in.Cwd, NonInteractive: in.NonInteractive,
		NativeTools: in.NativeTools, ImplicitSources: in.ImplicitSources}
	if in.Model != "" {
		wanted.Model = &in.Model
	}
	wanted.ApprovalPolicy, wanted.FilesystemSandbox = in.Mode.controls()
	made, err := s.opts.Operations.Create(ctx, wanted)
	if err != nil {
		return session.Session{}, err
	}
	_, err = s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		begun := note{Origin: in.Origin, Facts: factsOf(made, made.RunsModel), Pinned: !in.AllowChangedSources}
		return nil, noteSession(ctx, tx, made.ID, in.Mode, begun, s.now())
	})
	return made, err
}

// controls returns the levels of a mode, nil for the session's.
func (m Mode) controls() (approvalPolicy, sandbox *string) {
	word := func(s string) *string { return &s }
	switch m {
	case ModeAsk:
		return word("untrusted"), nil
	case ModeAuto:
		return word("on-request"), nil
	case ModeYolo:
		return word("never"), word("danger-full-access")
	}
	return nil, nil
}

func (s *Service) allowed(mode Mode) error {
	if mode == ModeYolo && !s.opts.Yolo {
		return ErrYolo
	}
	return nil
}

// Submit queues a task of a session, with a generated id for "". It runs when the earlier ones have ended. ErrExists,
// *LimitError, ErrYolo; other errors are those of operations.Check.
func (s *Service) Submit(ctx context.Context, t Task) (Task, error) {
	if err := s.allowed(t.Mode); err != nil {
		return Task{}, err
	}
	if err := s.opts.Operations.Check(ctx, operations.Send, t.SessionID); err != nil {
		return Task{}, err
	}
	if err := s.opts.Sessions.CheckWorkspace(ctx, t.SessionID); err != nil {
		return Task{}, err
	}
	if t.ID == "" {
		t.ID = ids.New()
	}
	if err := database.CheckKeys("task_id", t.ID); err != nil {
		return Task{}, err
	}
	found, err := s.opts.Sessions.Lookup(ctx, t.SessionID)
	if err != nil {
		return Task{}, err
	}
	origin := make([]journal.Event, 1)
	s.journal.Attribute(ctx, origin)
	t.actor, t.traceID, t.spanID = origin[0].Actor, origin[0].TraceID, origin[0].SpanID
	t.Status, t.CreatedAt = Queued, s.now()
	_, err = s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := readTask(ctx, tx, t.SessionID, t.ID); !errors.Is(err, ErrNotFound) {
			if err == nil {
				err = journal.Refuse(ErrExists)
			}
			return nil, err
		}
		var open, ours int
		if err := tx.QueryRowContext(ctx, `select count(*), coalesce(sum(case when session_id = $1 then 1 else 0 end), 0)
			from tasks where ended_at = 0`, database.EncodeText(t.SessionID)).Scan(&open, &ours); err != nil {
			return nil, fmt.Errorf("count the tasks that are not over: %w", err)
		}
		switch {
		case ours >= s.opts.Limits.PerSession:
			return nil, journal.Refuse(&LimitError{"session", s.opts.Limits.PerSession})
		case open >= s.opts.Limits.Open:
			return nil, journal.Refuse(&LimitError{"server", s.opts.Limits.Open})
		}
		t.Ahead = ours
		if err := tx.QueryRowContext(ctx, `select coalesce(max(number), 0) + 1 from tasks where session_id = $1`,
			database.EncodeText(t.SessionID)).Scan(&t.number); err != nil {
			return nil, fmt.Errorf("number a task: %w", err)
		}
		return nil, errors.Join(noteSession(ctx, tx, t.SessionID, "", note{Facts: factsOf(found, "")}, t.CreatedAt), insertTask(ctx, tx, t))
	})
	if err != nil {
		return Task{}, err
	}
	s.wake(t.SessionID)
	return t, nil
}

// Get reads a task. ErrNotFound; other errors are those of operations.Check.
func (s *Service) Get(ctx context.Context, sessionID, taskID string) (Task, error) {
	if err := s.opts.Operations.Check(ctx, operations.Read, sessionID); err != nil {
		return Task{}, err
	}
	t, err := readTask(ctx, s.db.Read(), sessionID, taskID)
	if errors.Is(err, ErrNotFound) {
		t, err = s.foreign(ctx, sessionID, taskID)
	}
	if err != nil || t.LastSeq > 0 || t.Status == Queued {
		return t, err
	}
	t.LastSeq, err = s.lastSeq(ctx, sessionID, taskID)
	return t, err
}

// foreign returns the task for a turn that another client began, derived from its events, or ErrNotFound.
func (s *Service) foreign(ctx context.Context, sessionID, turnID string) (Task, error) {
	turn, known, err := s.opts.Sessions.Turn(ctx, sessionID, turnID)
	if err != nil {
		return Task{}, err
	}
	var ours int
	err = s.db.Read().QueryRowContext(ctx, `select count(*) from tasks where session_id = $1 and turn_id = $2`,
		database.EncodeText(sessionID), database.EncodeText(turnID)).Scan(&ours)
	if err == nil && (!known || ours > 0) {
		err = ErrNotFound
	}
	if err != nil {
		return Task{}, err
	}
	t := Task{SessionID: sessionID, ID: turnID, TurnID: turnID, Status: Running}
	if turn.Status != runtime.TurnInProgress {
		stored, err := s.opts.Sessions.Lookup(ctx, sessionID)
		if err != nil {
			return Task{}, err
		}
		outcome := outcomeOf(stored.Runtime, turnOf(turn))
		t.Status, t.Outcome = outcome.Status, &outcome
	}
	return t, nil
}

// List lists the latest tasks of a session, newest first.
func (s *Service) List(ctx context.Context, sessionID string, limit int) ([]Task, error) {
	if err := s.opts.Operations.Check(ctx, operations.Read, sessionID); err != nil {
		return nil, err
	}
	return queryTasks(ctx, s.db.Read(), `session_id = $1 order by number desc limit $2`, database.EncodeText(sessionID),
		limit)
}

// encodeMark and decodeMark convert the position of a session's turns before a task's own.
func encodeMark(m session.TurnMark) string { return string(encode(m)) }

func decodeMark(text string) (m session.TurnMark, err error) {
	return m, json.Unmarshal([]byte(text), &m)
}
