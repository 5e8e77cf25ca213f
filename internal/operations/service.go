// Package operations is what a client may ask of the server, whatever protocol it asks in: REST, JSON-RPC, the task API
// and the command line call the same methods.
//
// It owns the rules a client meets: which sessions an operation may be done on, which parts of a request go together,
// what is taken when a client names nothing. Errors are typed; a protocol only words them. It must never know HTTP, a
// wire name or a runtime's protocol. What the server itself wants (job workers, extensions) is asked of the packages
// below, where these rules are not met.
package operations

import (
	"context"
	"encoding/json"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/services/session"
	"harness/queue"
	"harness/queue/jobs"
	"harness/stream"
	"harness/transcript"
)

// Sessions is what the operations need of sessions. *session.Service implements it.
type Sessions interface {
	Projects
	Attended
	Waitings

	// Lookup finds a session in the stored rows, adopting one the runtime knows and we do not. It returns
	// *session.DeletedError for a deleted one and session.ErrNotFound for an unknown one. Rows are read first: a known
	// session costs no runtime call.
	Lookup(ctx context.Context, sessionID string) (session.Session, error)
	// Own refuses with *session.NotOwnerError what needs the runtime of a session that is another node's, unless that is not
	// alive, and the session was taken; *session.PinnedError when it cannot be.
	Own(ctx context.Context, session session.Session) error
	// CheckNew refuses with *session.ElsewhereError sessions at a node that makes none.
	CheckNew() error
	// CheckRuns refuses with *session.ElsewhereError what needs an agent at a node that runs none.
	CheckRuns() error
	// CheckFolder is the absolute path of the folder a session is to work in: *session.FolderError.
	CheckFolder(cwd string) (string, error)
	Create(ctx context.Context, in session.Create) (session.Session, error)
	List(ctx context.Context, query session.ListQuery) (session.Page, error)
	// Read reads the session, its native thread (with turns) and the assembled transcript, or a window of it (without
	// turns).
	Read(ctx context.Context, sessionID string, want session.Reading) (session.Detail, error)
	// MarkRead and MarkUnread note how far somebody has read a session.
	MarkRead(ctx context.Context, reader, sessionID, messageID string) (further bool, err error)
	MarkUnread(ctx context.Context, reader, sessionID string) error
	Rename(ctx context.Context, sessionID, title string) (session.Session, error)
	Archive(ctx context.Context, sessionID string) (session.Session, error)
	Unarchive(ctx context.Context, sessionID string) (session.Session, error)
	// Resume loads the session in its runtime and tells it of these tools of the client.
	Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error)
	Delete(ctx context.Context, sessionID string) (session.Deleted, error)
	AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error)

	// Submit starts a turn with a message, steers it into the running one, or queues it behind that.
	Submit(ctx context.Context, sessionID string, message session.Message) (session.Submitted, error)
	// Retry sends what a turn was asked once more, if that was cut off before any tool ran: *session.NotRetryableError
	// otherwise.
	Retry(ctx context.Context, sessionID, turnID, key string) (newTurnID string, err error)
	// Made is what a message with a key made that came before (session.Message.Key).
	Made(ctx context.Context, sessionID, key string) (string, error)
	// Sources tells which files the session's agent reads by itself.
	Sources(ctx context.Context, sessionID string) (session.Sources, error)
	// StopTurn ends the running turn and, unless it is to be kept, the background work which that began; turnID "" means
	// whichever runs. ErrNoActiveTurn, ErrWrongTurn.
	StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error)
	// Background lists the background work of a session, EndBackground ends a task of it: runtime.ErrNoBackground.
	Background(ctx context.Context, sessionID string) ([]session.BackgroundTask, error)
	EndBackground(ctx context.Context, sessionID, id string) error
	// RollBack takes back the last turns and returns the runtime's answer; *runtime.TooFewTurnsError.
	RollBack(ctx context.Context, sessionID string, numTurns int) (json.RawMessage, error)

	// What follows asks the runtime also about a session that is not stored here.
	Fork(ctx context.Context, sessionID string) (session.Forked, error)
	Compact(ctx context.Context, sessionID string) (json.RawMessage, error)
	CleanTerminals(ctx context.Context, sessionID string) (json.RawMessage, error)
	Review(ctx context.Context, sessionID string, review runtime.Review) (json.RawMessage, error)
	SteerTurn(ctx context.Context, sessionID, turnID, text string) error

	// UpsertTranscripts stores the entries, all or none, and announces each as it is, which is also returned as JSON. The
	// session must exist (Lookup).
	UpsertTranscripts(ctx context.Context, sessionID string, entries []transcript.Entry) ([]json.RawMessage, error)

	// Requests lists the pending interactive requests of a session, oldest first. An unknown session has none.
	Requests(ctx context.Context, sessionID string, kind runtime.RequestKind) ([]session.Request, error)
	// Settle decides a pending request exactly once: ErrRequestNotFound, or *session.SettledError naming how it was
	// settled before.
	Settle(ctx context.Context, requestID string, kind runtime.RequestKind, reply runtime.Reply, decidedBy string) (
		session.Request, error)
	// SessionOfRequest is the session an interactive request belongs to, whatever became of it. ErrRequestNotFound.
	SessionOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (sessionID string, err error)
	// ProjectsOf are the projects of stored sessions, by session, without those that are in none.
	ProjectsOf(ctx context.Context, sessionIDs ...string) (map[string]string, error)
}

// Attended is what the operations need for clients that follow sessions as they are opened, ask and stop.
type Attended interface {
	// PromiseSession gives out a temporary id for a session that KeepPromise then opens; RealID is the session's own for
	// it.
	PromiseSession(ctx context.Context, runtimeName, projectID string) (session.Temporary, error)
	KeepPromise(ctx context.Context, t session.Temporary, in session.Create, word func(error) string) error
	RealID(ctx context.Context, id string) (string, error)
	// StopSession ends the running turn as StopTurn does, has the runtime give back what it keeps of the session, and tells
	// everybody who follows it.
	StopSession(ctx context.Context, sessionID string, keepBackground bool) (session.Stopped, error)
	// TranscriptPage reads a stretch of a transcript by number; MessageCounts are the lengths of transcripts, by session.
	TranscriptPage(ctx context.Context, sessionID string, offset, limit int, newestFirst bool) (
		session.TranscriptPage, error)
	MessageCounts(ctx context.Context, sessionIDs []string) (map[string]int64, error)
	// Pending lists the pending requests of a session, oldest first, AllPending those of all but workers.
	Pending(ctx context.Context, sessionID string) ([]session.Request, error)
	AllPending(ctx context.Context) ([]session.Request, error)
	// Usage adds up what the runtimes of sessions told they used.
	Usage(ctx context.Context, want session.UsageQuery) (rows []session.Usage, total session.Usage, err error)
}

// Projects is what the operations need of projects; there is no rule beyond its own.
type Projects interface {
	// ProjectsAt lists all projects, and tells the cursor of the event stream at which the list is true.
	ProjectsAt(ctx context.Context) (projects []session.Project, pos int64, err error)
	CreateProject(ctx context.Context, name string, workingDirectory *string) (session.Project, error)
	// RenameProject changes name and, when setDirectory, the working directory (nil clears it).
	RenameProject(ctx context.Context, projectID, name string, workingDirectory *string, setDirectory bool) (
		session.Project, error)
	DeleteProject(ctx context.Context, projectID string) (session.Project, error)
	// MoveChats takes the chats out of the project, archived first when archive is set. ErrProjectNotFound,
	// *session.NotMaterializedError.
	MoveChats(ctx context.Context, projectID string, archive bool) (session.MovedChats, error)
	// DeleteChats deletes the chats; skipped are those somebody else deleted meanwhile. ErrProjectNotFound.
	DeleteChats(ctx context.Context, projectID string) (deleted, skipped int, err error)
	// AgentSessions lists the worker sessions of a project or of "session:<id>". ErrProjectNotFound.
	AgentSessions(ctx context.Context, owner string) ([]session.AgentSession, error)
}

// Controls is what the operations need of controls and settings. *session.Service implements it.
type Controls interface {
	// Controls reads a session's controls and those new sessions start with.
	Controls(ctx context.Context, sessionID string) (controls, defaults session.Controls, err error)
	// Defaults reads those new sessions start with.
	Defaults(ctx context.Context) (session.Controls, error)
	// EditDefaults replaces those by what edit makes of them, in one step.
	EditDefaults(ctx context.Context, edit func(session.Controls) session.Controls) (next session.Controls, changed bool,
		err error)
	// EditControls replaces the session's controls, or with defaults set those of new sessions, by what edit makes of
	// them, in one step: nothing changes between the value edit is given and the write.
	EditControls(ctx context.Context, sessionID string, edit session.ControlEdit) (session.ControlChange, error)
}

// Jobs is what the operations need of the queue. *queue.Queue implements it.
type Jobs interface {
	// Job reads a job: queue.ErrNotFound.
	Job(ctx context.Context, id string) (queue.Job, error)
	// Jobs lists a project's jobs, oldest first, of one state or of all (""). An unknown project has none.
	Jobs(ctx context.Context, projectID string, state queue.State) ([]queue.Job, error)
	// Cancel ends a queued job or asks a running one to end: queue.ErrNotFound, *queue.TerminalError.
	Cancel(ctx context.Context, id, reason string) (queue.Job, error)
	// Counts are the health figures.
	Counts(ctx context.Context) (queue.Counts, error)
	// Browse lists jobs of all projects. queue.ErrBadCursor.
	Browse(ctx context.Context, want queue.Browse) (queue.JobPage, error)
	// Again enqueues a job that ended once more. queue.ErrNotFound, queue.ErrNotOver, *queue.Error.
	Again(ctx context.Context, id string) (queue.EnqueueResult, error)
	// CancelAll cancels many jobs.
	CancelAll(ctx context.Context, filter queue.Filter, reason string) (canceled []queue.Job, more bool, err error)
}

// Events is what the operations need of the journal. stream.Browser implements it.
type Events interface {
	Browse(ctx context.Context, want stream.Browse) (stream.BrowsedPage, error)
	Event(ctx context.Context, cursor int64) (stream.BrowsedEvent, bool, error)
}

// SuggestionStore keeps suggested requests. *jobs.Suggestions implements it; it works with the queue switched off too.
type SuggestionStore interface {
	// Upsert stores a suggestion and announces it, and returns what is stored then.
	Upsert(ctx context.Context, sessionID, requestKey string, next jobs.Suggestion) (jobs.Suggestion, error)
}

// Suggester has suggested requests made. *jobs.Suggester implements it.
type Suggester interface {
	// Request queues a suggestion; RequestAndWait waits for it as well, as long as a client may be kept waiting.
	// *queue.Error.
	Request(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
	RequestAndWait(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
}

// Options are the parts a Service stands on. Sessions and Controls are required.
type Options struct {
	Sessions Sessions
	Controls Controls
	// Runtimes are those sessions run in; nil: there are none.
	Runtimes Runtimes
	// RuntimeStatus is what is said of runtimes, by name; those it does not name are active.
	RuntimeStatus map[string]RuntimeStatus
	// DefaultsLocked refuses to change the controls of new sessions (*LockedError).
	DefaultsLocked bool
	// Jobs is the job queue, Suggestions keeps suggested requests, Suggester has them made. nil: ErrQueueOff.
	Jobs Jobs
	// Providers tells the clouds in which a runtime can reach its models, by the runtime's name; nil tells none.
	Providers func(name string) []environment.ProviderStatus
	// Searching finds titles and entries. Required where Service.Search is called.
	Searching Searching
	// Events lists what happened. Required where Service.Events and Service.Event are called.
	Events Events
	// Uploads keeps pictures for messages. Required where Service.Upload is called, and messages name them.
	Uploads     Uploads
	Suggestions SuggestionStore
	Suggester   Suggester
}

// Service carries out what clients ask for.
type Service struct{ opts Options }

// New makes a Service.
func New(options Options) *Service { return &Service{opts: options} }

// lookupPatience is how long a deletion waits for a runtime to say whether it knows a session that is not stored here.
// With what the deletion itself may wait, that is less than 10 s.
const lookupPatience = 3 * time.Second
