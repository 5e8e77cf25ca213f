package jobs

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
	"harness/transcript"
)

// SessionStore opens, finds, changes and deletes sessions.
type SessionStore interface {
	Lookup(ctx context.Context, sessionID string) (session.Session, error)
	Create(ctx context.Context, in session.Create) (session.Session, error)
	Rename(ctx context.Context, sessionID, title string) (session.Session, error)
	AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error)
	Projects(ctx context.Context) ([]session.Project, error)
	Delete(ctx context.Context, sessionID string) (session.Deleted, error)
}

// Turns starts, finds and ends turns.
type Turns interface {
	Send(ctx context.Context, sessionID string, message session.Message) (session.Sent, error)
	TurnMark(ctx context.Context, sessionID string) (session.TurnMark, error)
	TurnSince(ctx context.Context, sessionID string, mark session.TurnMark) (turnID string, err error)
	Interrupt(ctx context.Context, sessionID, turnID string) (string, error)
	Turn(ctx context.Context, sessionID, turnID string) (session.TurnState, bool, error)
}

// Conversations reads the messages of sessions, and answers the requests of their agents.
type Conversations interface {
	Read(ctx context.Context, sessionID string, want session.Reading) (session.Detail, error)
	TurnEntries(ctx context.Context, sessionID, turnID string) ([]transcript.Entry, error)
	Pending(ctx context.Context, sessionID string) ([]session.Request, error)
	Settle(ctx context.Context, requestID string, kind runtime.RequestKind, reply runtime.Reply, decidedBy string) (
		session.Request, error)
	UpsertTranscript(ctx context.Context, sessionID string, entry transcript.Entry) error
}

// Sessions are the sessions that jobs run in.
type Sessions struct {
	Transcripts
	SessionStore
	Turns
	Conversations
}

// TurnPolicy is the permissions of a worker's turn. An empty Effort means the model's default; other empty members mean
// the session defaults.
type TurnPolicy struct {
	FilesystemSandbox, NetworkAccess, ApprovalPolicy, Effort string
}

// AgentPolicy describes how an agent's workers run (its agent.config.json).
type AgentPolicy struct {
	// Runtime and Model default to the server's default runtime and that runtime's own model when "".
	Runtime, Model string
	// Start is the policy of a new worker session, Prepare the policy of its orientation, Instruct the policy of a job.
	Start, Prepare, Instruct TurnPolicy
	// TurnTimeout bounds a job's turn; 0 means the server's own limit.
	TurnTimeout time.Duration
	// Orientation is the first prompt of a new worker; "" means the built-in text.
	Orientation string
}

// Policies returns the policy of an agent's workers. An error means they may not run: the job fails with it and is not
// retried.
type Policies func(agent string) (AgentPolicy, error)

// errRefused marks the failure of a job because the policy of its agent is unreadable.
var errRefused = errors.New("the agent's worker is refused")

// retryable is the queue's classification, except that a refusal and an unknown outcome are never retried.
func retryable(err error) bool {
	return !errors.Is(err, errRefused) && !errors.Is(err, errOutcomeUnknown) && !errors.Is(err, errInterrupted) &&
		queue.Retryable(err)
}

// message returns a prompt to a worker with the rights of a policy.
func (p AgentPolicy) message(text string, may TurnPolicy) session.Message {
	return session.Message{Text: text, Model: optional(p.Model), Effort: may.Effort,
		ApprovalPolicy: optional(may.ApprovalPolicy), NetworkAccess: optional(may.NetworkAccess),
		FilesystemSandbox: optional(may.FilesystemSandbox)}
}

// worker is a hidden session that acts for an owner.
type worker struct {
	owner, agent, sessionID string
	// prepared are the keys of the instructions that the worker got: orientation and bootstrap. Its conversation
	// contains them, so they survive restarts.
	prepared []string
}

// Workers maps owners to hidden sessions of this node. Make it with NewWorkers.
type Workers struct {
	db       *database.DB
	journal  *journal.Journal
	sessions Sessions
	nodeID   string
	policies Policies
	maxTurns int
	log      zerolog.Logger

	making sync.Mutex // jobs of one owner never run concurrently, but a project and its session may share a name
}

// WorkersOptions are the options of NewWorkers. All but MaxTurns are required.
type WorkersOptions struct {
	DB       *database.DB
	Journal  *journal.Journal
	Sessions Sessions
	NodeID   string
	Policies Policies
	// MaxTurns is the maximum number of turns in a worker's session; the next job gets a new session. 0: no limit.
	MaxTurns int
	Logger   zerolog.Logger
}

// NewWorkers makes a Workers.
func NewWorkers(o WorkersOptions) *Workers {
	return &Workers{db: o.DB, journal: o.Journal, sessions: o.Sessions, nodeID: o.NodeID, policies: o.Policies,
		maxTurns: o.MaxTurns, log: o.Logger}
}

// policy returns the policy of an agent's workers, or errRefused if it is unreadable.
func (w *Workers) policy(agent string) (AgentPolicy, error) {
	policy, err := w.policies(agent)
	if err != nil {
		return AgentPolicy{}, fmt.Errorf("%w: %w", errRefused, err)
	}
	return policy, nil
}

// WorkerSessions lists an owner's workers by agent; an owner without workers has an empty list. It implements
// session.Workers.
func (w *Workers) WorkerSessions(ctx context.Context, owner string) ([]session.AgentSession, error) {
	return database.ReadAll(ctx, w.db.Read(), "read the workers of "+owner,
		func(row database.Row) (one session.AgentSession, err error) {
			err = row.Scan(&one.Agent, &one.SessionID)
			one.Agent = database.DecodeText(one.Agent)
			return one, err
		}, `select agent, session_id from agent_workers where owner = $1 order by agent, node_id`, database.EncodeText(owner))
}

// DismissWorkersIn drops the owner's workers from the mapping; the next job gets a new one. It implements
// session.Workers.
func (w *Workers) DismissWorkersIn(ctx context.Context, tx database.Tx, owner string) (sessionIDs []string, err error) {
	return database.ReadTexts(ctx, tx, "dismiss the workers of "+owner,
		`delete from agent_workers where owner = $1 returning session_id`, database.EncodeText(owner))
}

// Works reports whether a session is a worker of any owner. It implements session.Workers.
func (w *Workers) Works(ctx context.Context, sessionID string) (bool, error) {
	var n int
	if err := w.db.Read().QueryRowContext(ctx, `select count(*) from agent_workers where session_id = $1`, sessionID).
		Scan(&n); err != nil {
		return false, fmt.Errorf("find the owner of worker session %s: %w", sessionID, err)
	}
	return n > 0, nil
}

// forget removes a worker if its session no longer exists.
func (w *Workers) forget(ctx context.Context, one worker) error {
	return w.change(ctx, `delete from agent_workers where session_id = $1`, one.sessionID)
}

func (w *Workers) change(ctx context.Context, statement string, args ...any) error {
	_, err := w.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, statement, args...)
		return nil, err
	})
	if err != nil {
		return fmt.Errorf("change the mapping of workers: %w", err)
	}
	return nil
}

// ensure returns the owner's worker on this node, and creates one if needed. It replaces a worker that may get no
// further job, unless this job already started a turn in its session.
func (w *Workers) ensure(ctx context.Context, owner, agent, sourceSessionID string, policy AgentPolicy, begun bool) (
	worker, error) {
	w.making.Lock()
	defer w.making.Unlock()
	found, err := patiently(ctx, DefaultTiming().Poll, func() (worker, error) { return w.read(ctx, owner, agent) })
	if err == nil && !begun {
		found, err = w.retire(ctx, found, policy.Runtime)
	}
	if !errors.Is(err, sql.ErrNoRows) {
		return found, err
	}
	made, err := w.create(ctx, owner, agent, sourceSessionID, policy)
	if err != nil {
		return worker{}, fmt.Errorf("make a worker session for %s of %s: %w", agent, owner, err)
	}
	return made, nil
}

// retire removes a worker that had its last turn, or whose agent now has another runtime, and returns sql.ErrNoRows.
// After a kill, the next start deletes the leftover session, like every worker session without an owner.
func (w *Workers) retire(ctx context.Context, one worker, runtimeName string) (worker, error) {
	why, err := w.outdated(ctx, one, runtimeName)
	if err != nil || why == "" {
		return one, err
	}
	if err := w.forget(ctx, one); err != nil {
		return worker{}, err
	}
	w.log.Info().Str("session", one.sessionID).Str("owner", one.owner).Str("agent", one.agent).Str("why", why).
		Msg("replacing a worker")
	if _, err := w.sessions.Delete(ctx, one.sessionID); err != nil && !stale(err) {
		w.log.Warn().Err(err).Str("session", one.sessionID).
			Msg("a worker session could not be removed; the next start tries again")
	}
	return worker{}, sql.ErrNoRows
}

// outdated returns the reason why a worker gets no further job, "" if it may get one.
func (w *Workers) outdated(ctx context.Context, one worker, runtimeName string) (why string, err error) {
	if runtimeName != "" {
		now, err := patiently(ctx, DefaultTiming().Poll, func() (session.Session, error) {
			return w.sessions.Lookup(ctx, one.sessionID)
		})
		if stale(err) {
			return "", nil // the next job finds out
		}
		if err != nil {
			return "", err
		}
		if now.Runtime != runtimeName {
			return fmt.Sprintf("its runtime is %s and must be %s", now.Runtime, runtimeName), nil
		}
	}
	if w.maxTurns == 0 {
		return "", nil
	}
	had, err := patiently(ctx, DefaultTiming().Poll, func() (session.TurnMark, error) {
		return w.sessions.TurnMark(ctx, one.sessionID)
	})
	if err != nil || had.Turns < w.maxTurns {
		return "", err
	}
	return fmt.Sprintf("it has had %d turns", had.Turns), nil
}

func (w *Workers) read(ctx context.Context, owner, agent string) (worker, error) {
	found := worker{owner: owner, agent: agent}
	var prepared string
	err := w.db.Read().QueryRowContext(ctx,
		`select session_id, prepared from agent_workers where owner = $1 and agent = $2 and node_id = $3`,
		database.EncodeText(owner), database.EncodeText(agent), w.nodeID).Scan(&found.sessionID, &prepared)
	if err != nil {
		return worker{}, err
	}
	if err := json.Unmarshal([]byte(database.DecodeText(prepared)), &found.prepared); err != nil {
		return worker{}, fmt.Errorf("read the prompts of worker %s: %w", found.sessionID, err)
	}
	return found, nil
}

func (w *Workers) create(ctx context.Context, owner, agent, sourceSessionID string, policy AgentPolicy) (
	worker, error) {
	title, cwd, projectID, err := w.workspaceOf(ctx, owner, sourceSessionID)
	if err != nil {
		return worker{}, err
	}
	may := policy.Start
	made, err := again(ctx, DefaultTiming().Poll, busy, func() (session.Session, error) {
		return w.sessions.Create(ctx, session.Create{Cwd: cwd, Runtime: policy.Runtime, Model: optional(policy.Model),
			SystemOwned: true, ApprovalPolicy: optional(may.ApprovalPolicy), NetworkAccess: optional(may.NetworkAccess),
			FilesystemSandbox: optional(may.FilesystemSandbox)})
	})
	if err != nil {
		return worker{}, err
	}
	ctx = context.WithoutCancel(ctx) // the session exists, so store its mapping
	if err := w.change(ctx,
		`insert into agent_workers (owner, agent, node_id, session_id, prepared) values ($1, $2, $3, $4, '[]')`,
		database.EncodeText(owner), database.EncodeText(agent), w.nodeID, made.ID); err != nil {
		return worker{}, err
	}
	if _, err := w.sessions.Rename(ctx, made.ID, title+" "+agent); err != nil {
		return worker{}, err
	}
	if projectID != nil {
		if _, err := w.sessions.AssignProject(ctx, made.ID, projectID); err != nil &&
			!errors.Is(err, session.ErrProjectNotFound) {
			return worker{}, err
		}
	}
	return worker{owner: owner, agent: agent, sessionID: made.ID}, nil
}

// workspaceOf returns the workspace and the title of an owner's worker.
func (w *Workers) workspaceOf(ctx context.Context, owner, sourceSessionID string) (title, cwd string, projectID *string,
	err error) {
	source, err := patiently(ctx, DefaultTiming().Poll, func() (session.Session, error) {
		return w.sessions.Lookup(ctx, sourceSessionID)
	})
	if err != nil {
		return "", "", nil, fmt.Errorf("find the source session: %w", err)
	}
	if session.IsSession(owner) {
		return source.Title, source.Cwd, nil, nil
	}
	projects, err := patiently(ctx, DefaultTiming().Poll, func() ([]session.Project, error) {
		return w.sessions.Projects(ctx)
	})
	if err != nil {
		return "", "", nil, err
	}
	for _, project := range projects {
		if project.ID != owner {
			continue
		}
		if project.WorkingDirectory != nil {
			return project.Name, *project.WorkingDirectory, &owner, nil
		}
		return project.Name, source.Cwd, &owner, nil
	}
	return source.Title, source.Cwd, nil, nil
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// recordPrompt records that a worker got an instruction.
func (w *Workers) recordPrompt(ctx context.Context, one *worker, key string) error {
	prepared := append(slices.Clone(one.prepared), key)
	if err := w.change(ctx, `update agent_workers set prepared = $2 where session_id = $1`, one.sessionID,
		database.EncodeText(string(encode(prepared)))); err != nil {
		return err
	}
	one.prepared = prepared
	return nil
}

// stale reports whether an error means that a worker's session no longer exists and a new one is needed.
func stale(err error) bool {
	var deleted *session.DeletedError
	return errors.As(err, &deleted) || errors.Is(err, session.ErrNotFound) || errors.Is(err, session.ErrNotMaterialized) ||
		errors.Is(err, runtime.ErrThreadNotFound)
}
