// Package session says what projects, sessions, controls, turns and interactive requests are: their types, their errors
// and the rules that need no store. Package manager runs them.
//
// It must never know HTTP, a websocket, or a provider's JSON shapes.
package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/transcript"
)

// NewChatTitle is the title of a session no one has named yet.
const NewChatTitle = "New chat"

// Project groups sessions under a name. Times are in ms.
type Project struct {
	ID               string
	Name             string
	WorkingDirectory *string
	CreatedAt        int64
	UpdatedAt        int64
}

// Controls are the settings a session's turns run with. A nil Model means the runtime's default.
type Controls struct {
	Model          *string `json:"model"`
	ApprovalPolicy string  `json:"approvalPolicy"` // untrusted, on-failure, on-request or never
	NetworkAccess  string  `json:"networkAccess"`  // restricted or enabled
	// read-only, workspace-write or danger-full-access
	FilesystemSandbox string                     `json:"filesystemSandbox"`
	Settings          map[string]json.RawMessage `json:"settings"`
	// AcceptEdits has requests to change files approved at once, without a person (accept_edits.go). It goes with the
	// approval policy on-request and ends with it.
	AcceptEdits bool `json:"acceptEdits,omitempty"`
	// NonInteractive says that no person is there: what the agent asks is declined at once (unasked.go). It is chosen when
	// the session is made.
	NonInteractive bool `json:"nonInteractive,omitempty"`
	// NetworkBefore is the network access that counts again when the sandbox is no longer danger-full-access, "" when a
	// client named the present one. Clients do not see it.
	NetworkBefore string `json:"networkBefore,omitempty"`
	// NativeTools is runtime.NativeToolsOff of an agent without tools of its own, else "". It is chosen when the session is
	// made.
	NativeTools string `json:"nativeTools,omitempty"`
}

// Session is one conversation as the harness stores it. Times are in ms. For codex the id is the thread id, as clients
// expect.
type Session struct {
	ID      string
	Runtime string
	// RuntimeSessionID is the runtime's own id of the conversation, unique within it.
	RuntimeSessionID string
	// RunsModel is the model the runtime said it runs as the session was opened; it is not stored.
	RunsModel     string
	NodeID        string
	ProjectID     *string
	Title         string
	Cwd           string
	Source        string
	ModelProvider string
	Materialized  bool
	Controls      Controls
	SystemOwned   bool
	Archived      bool
	CreatedAt     int64
	UpdatedAt     int64
	// Capabilities is what its runtime could do when the session was opened (runtime.Capabilities as JSON); in Detail of
	// one that began elsewhere what it can do now, nil when that runtime is not configured.
	Capabilities json.RawMessage
	// Activity is what goes on in it now; not filled in by Lookup.
	Activity Activity
	// Figures are filled in where ListQuery or Reading ask for them, else nil.
	Figures *Figures
	// HistoryAt is up to when (ms) the runtime's own history is stored here, 0 when it has to be imported.
	HistoryAt int64 `json:"-"`
	// Epoch counts its owners.
	Epoch int64 `json:"-"`
	// Thread is the runtime's own description of the conversation, byte for byte as last seen.
	Thread json.RawMessage
}

// State is what a session is doing.
type State string

// The states of a session.
const (
	StateIdle    State = "idle"    // no turn runs, and the last one did not fail
	StateRunning State = "running" // a turn runs
	StateWaiting State = "waiting" // a turn runs and waits for a person
	StateError   State = "error"   // no turn runs, and the last one failed
	// StateUnresponsive: a turn runs, and its runtime does not answer. The turn goes on, or ends with the runtime.
	StateUnresponsive State = "unresponsive"
)

// Activity is what goes on in a session.
type Activity struct {
	State State
	// ActiveTurnID is the running turn, "" for none.
	ActiveTurnID string
	// PendingCount is how many interactive requests wait for a person.
	PendingCount int64
	// LastError is why the last turn failed, or why the running one tries again to reach its model; nil else.
	LastError *TurnError
	// RetryableTurnID is the last turn when it was cut off before any tool ran, so that it can be tried again
	// (manager.Service.Retry); "" otherwise.
	RetryableTurnID string
	// Background is the work that goes on outside the turns, the oldest first.
	Background []BackgroundTask
}

// TurnError is why a turn failed.
type TurnError struct {
	TurnID string
	// Message is the runtime's words and what to do, as in the turn's entry of type turn.error.
	Message string
}

// Detail is a session with its transcript, or the stretch of it that was asked for.
type Detail struct {
	Session    Session
	Transcript []transcript.Entry
	// Older and Newer are the cursors that go on from a window, "" where there is nothing more for now and when the whole
	// was read.
	Older, Newer string
	// Count is how many entries the transcript has, -1 when that was not asked for.
	Count int64
	// Pos is the cursor of the event stream at which what was read is true: what happened before is in it, what comes
	// after that cursor is not.
	Pos int64
	// HistoryPending says that what its runtime stored of it before it came here, or behind this server's back, is not in
	// the transcript yet.
	HistoryPending bool
	// Version names what was read: it is another one after any change of the session or an entry. "" when it can not be
	// sent.
	Version string
	// Unchanged says that the reader has this version already; Transcript is left empty.
	Unchanged bool
	// Thread is the runtime's description of a whole read with Pieces, which took the items; nil: it is Session.Thread.
	Thread []runtime.DescribedPart
}

// Reading says how much of a session is wanted, and what the reader has.
type Reading struct {
	// Window is the stretch of the transcript to read; nil reads all of it.
	Window *transcript.Window
	// Chunks takes the transcript of a whole read, and the items of its turns, in the place of Detail. nil: none.
	Chunks Chunks
	// Count has Detail.Count filled in. OmitDetails leaves the details of a window's entries out.
	Count, OmitDetails bool
	// Figures has Session.Figures filled in, with what Reader has read.
	Figures bool
	Reader  string
	// Has reports whether the reader has a version already, so that the transcript need not be read. nil: it has none.
	Has func(version string) bool
}

// Create are the wishes of a new session; nil fields take the stored defaults. Runtime is the server's default one when
// "". A system-owned session without a Model has its runtime's.
type Create struct {
	// ID is that of the session where its runtime takes one, "" for a new one.
	ID      string
	Cwd     string
	Runtime string
	// RuntimeNamed says that the client named the runtime, as those of codex-manager never do.
	RuntimeNamed      bool
	Model             *string
	ApprovalPolicy    *string
	NetworkAccess     *string
	FilesystemSandbox *string
	AcceptEdits       bool
	NonInteractive    bool
	DynamicTools      json.RawMessage
	SystemOwned       bool
	// ImplicitSources is how much the agent may read by itself: one of its runtime's runtime.Capabilities.ImplicitSources,
	// the first when "".
	ImplicitSources string
	// NativeTools is whether the agent has tools of its own: runtime.NativeToolsOn, "" for the same, or
	// runtime.NativeToolsOff.
	NativeTools string
	// ProjectID is the project it is opened in, "" for none.
	ProjectID string
}

// ListQuery selects a page of sessions.
type ListQuery struct {
	// Text selects those in whose title or first message it occurs, however it is capitalised; "" selects all.
	Text string
	// Runtime selects those of one runtime, "" those of all.
	Runtime string
	// ProjectID selects those of one project, NoProject those of none, "" those of all.
	ProjectID string
	// Projects, when not nil, selects those of these projects; without any there are none.
	Projects []string
	// State selects those that are in it now, "" all.
	State State
	// Sort is the order, SortUpdated when "".
	Sort Sort
	// Figures has Session.Figures filled in, with what Reader has read.
	Figures            bool
	Reader             string
	Archived           bool
	Cursor             string
	Limit              int
	IncludeSystemOwned bool
}

// NoProject is the ListQuery.ProjectID of sessions that are in no project.
const NoProject = "none"

// Sort is an order of sessions, newest first.
type Sort string

// The orders of sessions: by when they changed last, and by when they began.
const (
	SortUpdated Sort = "updated"
	SortCreated Sort = "created"
)

// Page is a page of sessions, newest first; NextCursor is "" on the last one.
type Page struct {
	Sessions   []Session
	NextCursor string
	// Pos is the cursor of the event stream at which the page is true.
	Pos int64
}

// Message is a user's message to a session. Options given are stored as the session's controls, except Effort.
type Message struct {
	// Input are native input parts; Text is a shorthand for one text part before them, Images (URLs) for image parts
	// behind it.
	Text              string
	Images            []string
	Input             []json.RawMessage
	Model             *string
	Effort            string
	ApprovalPolicy    *string
	NetworkAccess     *string
	FilesystemSandbox *string
	DynamicTools      json.RawMessage
	CollaborationMode json.RawMessage
	// Alone asks for a turn of its own: while another one runs the message is refused with runtime.ErrTurnActive.
	Alone bool
	// Begin is stored when the message is about to be sent to the runtime, in order with all that the session's turns do;
	// its error keeps the message from being sent. nil stores nothing.
	Begin journal.Unit `json:"-"`
	// Key names the request it came with where the same one may come again, "" where it does not: what it makes is found by
	// it (manager.Service.TurnForKey), which is asked before it is sent.
	Key string `json:"-"`
	// Names are Images as a client named them, which a message is queued with; nil when they are the same.
	Names []string `json:"-"`
	// Accepted is stored together with the turn that the runtime made of it; nil stores nothing.
	Accepted func(ctx context.Context, tx database.Tx, turnID string) ([]journal.Event, error) `json:"-"`
	// Retries is the turn whose messages it stands for (manager.Service.Retry).
	Retries string `json:"-"`
}

// Deleted reports a deletion.
type Deleted struct {
	SessionID        string
	Title            string
	DeletedFileCount int
}

// RequestStatus is the state of an interactive request.
type RequestStatus string

// The states of an interactive request. Pending is the only one that is not final.
const (
	RequestPending  RequestStatus = "pending"
	RequestResolved RequestStatus = "resolved"
	RequestExpired  RequestStatus = "expired"
)

// Request is something a runtime asks a person, kept from the moment it asked. Its id never repeats.
type Request struct {
	ID        string
	Kind      runtime.RequestKind
	SessionID string
	TurnID    string
	ItemID    string
	Method    string
	Summary   string
	Params    json.RawMessage
	// OfServer says that this server asks, about a call of a tool of its own.
	OfServer bool
	// Decisions and Questions are as the runtime's InteractiveRequested had them.
	Decisions, Questions json.RawMessage
	// Asked is the request in neutral words; the zero value of one that was stored before there were any.
	Asked  runtime.Asked
	Status RequestStatus
	// Reply is what settled it, DecidedBy who; both empty while pending.
	Reply     *runtime.Reply
	DecidedBy string
	// CreatedAt and SettledAt are in ms.
	CreatedAt, SettledAt int64
}

// Sentinels, to be tested with errors.Is.
var (
	// ErrNotFound: no session of that id, here or in a runtime.
	ErrNotFound = errors.New("session not found")
	// ErrProjectNotFound: no project of that id.
	ErrProjectNotFound = errors.New("project not found")
	// ErrRequestNotFound: no interactive request of that id and kind.
	ErrRequestNotFound = errors.New("interactive request not found")
	// ErrNoActiveTurn: the session has no running turn.
	ErrNoActiveTurn = errors.New("no active turn")
	// ErrWrongTurn: the named turn is not the running one.
	ErrWrongTurn = errors.New("that turn is not running")
	// ErrTurnUnsettled: it cannot be sent yet whether a turn began; ask again.
	ErrTurnUnsettled = errors.New("it is not known yet whether the turn began")
	// ErrTurnUnknown: whether a turn began, or which one it is, will not be known.
	ErrTurnUnknown = errors.New("it cannot be told whether the turn began")
	// ErrNotMaterialized: the session's runtime has nothing stored under its id, so it can not be archived, unarchived or
	// resumed.
	ErrNotMaterialized = errors.New("session has nothing stored in its runtime")
	// ErrDefaultsLocked: the controls of new sessions are set by configuration.
	ErrDefaultsLocked = errors.New("default controls are locked by configuration (SESSION_DEFAULTS_LOCKED)")
	// ErrBadCursor: the list cursor is not one of ours.
	ErrBadCursor = errors.New("cursor is not one this server gave out")
)

// DeletedError says the session was permanently deleted (410).
type DeletedError struct {
	SessionID string
	Title     string
	// DeletedAt is in ms.
	DeletedAt int64
	// runtime is that of the conversation, NativeID its own id there; "" where that was not kept.
	Runtime, NativeID string
	SystemOwned       bool
}

// Error implements error.
func (e *DeletedError) Error() string {
	return fmt.Sprintf("session %s was permanently deleted", e.SessionID)
}

// DuplicateNameError says another project has that name.
type DuplicateNameError struct{ ProjectID string }

// Error implements error.
func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("project %s already has this name", e.ProjectID)
}

// ProjectNotEmptyError says a project still has sessions.
type ProjectNotEmptyError struct {
	ProjectID    string
	SessionCount int
}

// Error implements error.
func (e *ProjectNotEmptyError) Error() string {
	return fmt.Sprintf("project %s still has %d sessions", e.ProjectID, e.SessionCount)
}

// SettledError says an interactive request was already settled, and how.
type SettledError struct{ Request Request }

// Error implements error.
func (e *SettledError) Error() string {
	return fmt.Sprintf("request %s is already %s (by %s)", e.Request.ID, e.Request.Status, e.Request.DecidedBy)
}

// TitleError says that a session is not called what it was to be renamed from.
type TitleError struct{ SessionID, Title string }

// Error implements error.
func (e *TitleError) Error() string {
	return fmt.Sprintf("session %s is called %q", e.SessionID, e.Title)
}

// EqualText says whether two optional texts are the same.
func EqualText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// DeletePatience is how long all of a deletion waits for the runtime. With what the store needs, and what a caller may
// have waited for before, the caller that deletes has an answer within 10 s, whatever the runtime does.
const DeletePatience = 6 * time.Second
