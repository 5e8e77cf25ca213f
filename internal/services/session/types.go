// Package session defines projects, sessions, controls, turns and interactive requests: their types, their errors and
// the rules that need no store. Package manager runs them.
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

// NewChatTitle is the title of a session without a name.
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
	// AcceptEdits approves requests to change files at once, without a person (package autodecide). It requires the
	// approval policy on-request and ends with it.
	AcceptEdits bool `json:"acceptEdits,omitempty"`
	// NonInteractive declines an agent's requests at once, because the session has no person (package autodecide). It
	// is chosen when the session is made.
	NonInteractive bool `json:"nonInteractive,omitempty"`
	// NetworkBefore is the network access that applies again after danger-full-access, "" if a client named the present
	// one. Clients do not see it.
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
	// RunsModel is the model that the runtime reported when the session was opened; it is not stored.
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
	// Capabilities are the runtime's capabilities when the session was opened (runtime.Capabilities as JSON). In Detail
	// of one that began elsewhere they are the current ones, nil if that runtime is not configured.
	Capabilities json.RawMessage
	// Activity is its current activity; not filled in by Lookup.
	Activity Activity
	// Figures are filled in where ListQuery or Reading ask for them, else nil.
	Figures *Figures
	// HistoryAt is up to when (ms) the runtime's own history is stored here, 0 if it needs an import.
	HistoryAt int64 `json:"-"`
	// Epoch counts its owners.
	Epoch int64 `json:"-"`
	// Thread is the runtime's own description of the conversation, byte for byte as last seen.
	Thread json.RawMessage
}

// State is the current state of a session.
type State string

// The states of a session.
const (
	StateIdle    State = "idle"    // no turn runs, and the last one did not fail
	StateRunning State = "running" // a turn runs
	StateWaiting State = "waiting" // a turn runs and waits for a person
	StateError   State = "error"   // no turn runs, and the last one failed
	// StateUnresponsive: a turn runs, and its runtime does not answer. The turn continues, or ends with the runtime.
	StateUnresponsive State = "unresponsive"
)

// Activity is the current activity of a session.
type Activity struct {
	State State
	// ActiveTurnID is the running turn, "" for none.
	ActiveTurnID string
	// PendingCount is how many interactive requests wait for a person.
	PendingCount int64
	// LastError is why the last turn failed, or why the running one retries; nil otherwise.
	LastError *TurnError
	// RetryableTurnID is the last turn when it was cut off before any tool ran, so that it can be tried again
	// (manager.Service.Retry); "" otherwise.
	RetryableTurnID string
	// Background is the work outside the turns, the oldest first.
	Background []BackgroundTask
}

// TurnError is why a turn failed.
type TurnError struct {
	TurnID string
	// Message is the runtime's message and the remedy, as in the turn's entry of type turn.error.
	Message string
}

// Detail is a session with its transcript, or the stretch of it that was asked for.
type Detail struct {
	Session    Session
	Transcript []transcript.Entry
	// Older and Newer are the cursors that continue a window. They are "" at an end and after a read of the whole.
	Older, Newer string
	// Count is the number of entries of the transcript, -1 if not requested.
	Count int64
	// Pos is the matching cursor of the event stream: the result has earlier events, and none after it.
	Pos int64
	// HistoryPending says that the transcript lacks stored history of its runtime: from before its adoption, or from
	// outside changes.
	HistoryPending bool
	// Version identifies the result: it changes with the session or an entry. "" if unknown.
	Version string
	// Unchanged says that the reader has this version already; Transcript is empty.
	Unchanged bool
	// Thread is the runtime's description of a whole read with Chunks, which received the items; nil: it is
	// Session.Thread.
	Thread []runtime.DescribedPart
}

// Reading selects the wanted part of a session, and the version the reader has.
type Reading struct {
	// Window is the stretch of the transcript to read; nil reads all of it.
	Window *transcript.Window
	// Chunks receives the transcript of a whole read, and the items of its turns, instead of Detail. nil: none.
	Chunks Chunks
	// Count fills in Detail.Count. OmitDetails omits the details of a window's entries.
	Count, OmitDetails bool
	// Figures fills in Session.Figures, with the markers of Reader.
	Figures bool
	Reader  string
	// Has reports whether the reader has a version already, whose transcript is not read. nil: it has none.
	Has func(version string) bool
}

// Create are the options of a new session; nil fields use the stored defaults. Runtime is the server's default one when
// "". A system-owned session without a Model has its runtime's.
type Create struct {
	// ID is the session's id if its runtime accepts one, "" for a new one.
	ID      string
	Cwd     string
	Runtime string
	// RuntimeNamed says that the client named the runtime, which codex-manager's clients never do.
	RuntimeNamed      bool
	Model             *string
	ApprovalPolicy    *string
	NetworkAccess     *string
	FilesystemSandbox *string
	AcceptEdits       bool
	NonInteractive    bool
	DynamicTools      json.RawMessage
	SystemOwned       bool
	// ImplicitSources is the allowed scope of implicit reads: one of its runtime's
	// runtime.Capabilities.ImplicitSources, the first when "".
	ImplicitSources string
	// NativeTools is whether the agent has tools of its own: runtime.NativeToolsOn, "" for the same, or
	// runtime.NativeToolsOff.
	NativeTools string
	// ProjectID is the project it is opened in, "" for none.
	ProjectID string
}

// ListQuery selects a page of sessions.
type ListQuery struct {
	// Text selects those whose title or first message contains it, in any case; "" selects all.
	Text string
	// Runtime selects those of one runtime, "" those of all.
	Runtime string
	// ProjectID selects those of one project, NoProject those of none, "" those of all.
	ProjectID string
	// Projects, when not nil, selects the sessions of these projects; empty selects none.
	Projects []string
	// State selects those that are in it now, "" all.
	State State
	// Sort is the order, SortUpdated when "".
	Sort Sort
	// Figures fills in Session.Figures, with the markers of Reader.
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

// The orders of sessions: by their last change, and by their creation.
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
	// after it.
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
	// Alone asks for a turn of its own: runtime.ErrTurnActive while another one runs.
	Alone bool
	// Begin is stored just before the message is sent to the runtime, in the order of the session's turns; its error
	// stops the message. nil stores nothing.
	Begin journal.Unit `json:"-"`
	// Key identifies a request that may be repeated, "" otherwise. Its result is found by the key
	// (manager.Service.TurnForKey), which the sender queries first.
	Key string `json:"-"`
	// Names are Images under a client's names, which the queue stores; nil if they are the same.
	Names []string `json:"-"`
	// Accepted is stored together with the resulting turn; nil stores nothing.
	Accepted func(ctx context.Context, tx database.Tx, turnID string) ([]journal.Event, error) `json:"-"`
	// Retries is the turn whose messages it repeats (manager.Service.Retry).
	Retries string `json:"-"`
}

// Deleted is the result of a deletion.
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

// Request is a runtime's question to a person, stored from its arrival. Its id never repeats.
type Request struct {
	ID        string
	Kind      runtime.RequestKind
	SessionID string
	TurnID    string
	ItemID    string
	Method    string
	Summary   string
	Params    json.RawMessage
	// OfServer says that this server asks, about a call of one of its tools.
	OfServer bool
	// Decisions and Questions are those of the runtime's InteractiveRequested.
	Decisions, Questions json.RawMessage
	// Asked is the request in neutral terms; zero for a request stored before they existed.
	Asked  runtime.Asked
	Status RequestStatus
	// Reply is the answer, DecidedBy its actor; both empty while pending.
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
	// ErrTurnUnsettled: it is not known yet whether a turn began; ask again.
	ErrTurnUnsettled = errors.New("it is not known yet whether the turn began")
	// ErrTurnUnknown: it stays unknown whether a turn began, or which one.
	ErrTurnUnknown = errors.New("it is unknown whether the turn began")
	// ErrNotMaterialized: the session's runtime has nothing stored under its id, so it can not be archived, unarchived or
	// resumed.
	ErrNotMaterialized = errors.New("session has nothing stored in its runtime")
	// ErrDefaultsLocked: the controls of new sessions are set by configuration.
	ErrDefaultsLocked = errors.New("default controls are locked by configuration (SESSION_DEFAULTS_LOCKED)")
	// ErrBadCursor: the list cursor is not one of ours.
	ErrBadCursor = errors.New("cursor is not one this server gave out")
)

// DeletedError means that the session was permanently deleted (410).
type DeletedError struct {
	SessionID string
	Title     string
	// DeletedAt is in ms.
	DeletedAt int64
	// Runtime is the conversation's runtime, NativeID its own id there; "" if not stored.
	Runtime, NativeID string
	SystemOwned       bool
}

// Error implements error.
func (e *DeletedError) Error() string {
	return fmt.Sprintf("session %s was permanently deleted", e.SessionID)
}

// DuplicateNameError means that another project has that name.
type DuplicateNameError struct{ ProjectID string }

// Error implements error.
func (e *DuplicateNameError) Error() string {
	return fmt.Sprintf("project %s already has this name", e.ProjectID)
}

// ProjectNotEmptyError means that a project still has sessions.
type ProjectNotEmptyError struct {
	ProjectID    string
	SessionCount int
}

// Error implements error.
func (e *ProjectNotEmptyError) Error() string {
	return fmt.Sprintf("project %s still has %d sessions", e.ProjectID, e.SessionCount)
}

// SettledError means that an interactive request was already settled, and has its result.
type SettledError struct{ Request Request }

// Error implements error.
func (e *SettledError) Error() string {
	return fmt.Sprintf("request %s is already %s (by %s)", e.Request.ID, e.Request.Status, e.Request.DecidedBy)
}

// TitleError means that a session does not have the expected title.
type TitleError struct{ SessionID, Title string }

// Error implements error.
func (e *TitleError) Error() string {
	return fmt.Sprintf("session %s is called %q", e.SessionID, e.Title)
}

// EqualText reports whether two optional texts are equal.
func EqualText(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// DeletePatience bounds all waits of a deletion for the runtime. Including the store and an earlier wait, its caller
// gets an answer within 10 s.
const DeletePatience = 6 * time.Second
