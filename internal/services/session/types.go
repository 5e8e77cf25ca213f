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
	"harness/internal/runtime/wire"
	"harness/transcript"
)

// NewChatTitle is the title of a session without a name, as codex-manager's clients expect it.
const NewChatTitle = "New chat"

// Project groups sessions under a name. Times are in ms.
type Project struct {
	ID               string
	Name             string
	WorkingDirectory *string
	CreatedAt        int64
	UpdatedAt        int64
}

// Controls are the settings that a session's turns run with. A nil Model means the runtime's default.
type Controls struct {
	Model          *string `json:"model"`
	ApprovalPolicy string  `json:"approvalPolicy"` // untrusted, on-failure, on-request or never
	NetworkAccess  string  `json:"networkAccess"`  // restricted or enabled
	// read-only, workspace-write or danger-full-access
	FilesystemSandbox string                     `json:"filesystemSandbox"`
	Settings          map[string]json.RawMessage `json:"settings"`
	// AcceptEdits approves requests to change files automatically, without asking a user (package autodecide). It
	// requires the approval policy on-request and is cleared when the policy changes.
	AcceptEdits bool `json:"acceptEdits,omitempty"`
	// NonInteractive declines an agent's requests automatically, because the session has no user (package autodecide).
	// It is set when the session is created.
	NonInteractive bool `json:"nonInteractive,omitempty"`
	// NetworkBefore is the network access to restore after danger-full-access, "" if a client set the current one.
	// Clients do not see it.
	NetworkBefore string `json:"networkBefore,omitempty"`
	// NativeTools is runtime.NativeToolsOff for an agent without native tools, else "". It is set when the session is
	// created.
	NativeTools string `json:"nativeTools,omitempty"`
}

// Session is one conversation as the harness stores it. Times are in ms. For codex, the id is the thread id, as
// clients expect.
type Session struct {
	ID      string
	Runtime string
	// RuntimeSessionID is the runtime's id of the conversation, unique within the runtime.
	RuntimeSessionID string
	// RunsModel is the model that the runtime last reported for the session, "" if unknown.
	RunsModel string
	NodeID    string
	ProjectID *string
	// Title is codex-manager's, NewChatTitle until it is set; Name and TitleSource are those of Shown.
	Title         string
	Name          string
	TitleSource   TitleSource
	Cwd           string
	Source        string
	ModelProvider string
	Materialized  bool
	Controls      Controls
	SystemOwned   bool
	Archived      bool
	// ArchivedBy is who archived it, and when; Actor is "" if that is not known.
	ArchivedBy Author
	CreatedAt  int64
	UpdatedAt  int64
	// Capabilities are the runtime's capabilities when the session was opened (runtime.Capabilities as JSON). For a
	// session that began outside the harness, Detail has the current ones, nil if its runtime is not configured.
	Capabilities json.RawMessage
	// Activity is the session's current activity; Lookup does not set it.
	Activity Activity
	// Figures is set where ListQuery or Reading request it, else nil.
	Figures *Figures
	// HistoryAt is the time (ms) up to which the runtime's history is stored here, 0 if it needs an import.
	HistoryAt int64 `json:"-"`
	// Epoch counts the session's owners.
	Epoch int64 `json:"-"`
	// Thread is the runtime's description of the conversation, byte for byte as the runtime last sent it.
	Thread json.RawMessage
}

// State is the current state of a session.
type State string

// The states of a session.
const (
	StateIdle    State = "idle"    // no turn runs, and the last one did not fail
	StateRunning State = "running" // a turn runs
	StateWaiting State = "waiting" // a turn runs and waits for a user
	StateError   State = "error"   // no turn runs, and the last one failed
	// StateUnresponsive: a turn runs, but its runtime does not answer. The turn continues, or ends with the runtime.
	StateUnresponsive State = "unresponsive"
)

// Activity is the current activity of a session.
type Activity struct {
	State State
	// ActiveTurnID is the running turn, "" for none.
	ActiveTurnID string
	// PendingCount is the number of interactive requests that wait for a user.
	PendingCount int64
	// LastError is why the last turn failed, or why the running turn retries; nil otherwise.
	LastError *TurnError
	// RetryableTurnID is the last turn if it was cut off before any tool ran. Such a turn can be retried
	// (manager.Service.Retry). "" otherwise.
	RetryableTurnID string
	// Background is the background work, oldest first.
	Background []BackgroundTask
}

// TurnError is why a turn failed.
type TurnError struct {
	TurnID string
	// Message is the runtime's message and the remedy, as in the turn's entry of type turn.error.
	Message string
}

// Detail is a session with its transcript, or with the requested range of it.
type Detail struct {
	Session    Session
	Transcript []transcript.Entry
	// Older and Newer are the cursors that continue a window. They are "" at an end, and after a full read.
	Older, Newer string
	// Count is the number of entries of the transcript, -1 if not requested.
	Count int64
	// Authors are the authors of the entries of a window with Figures, by message id.
	Authors map[string]Author
	// Pos is the matching cursor of the event stream: the result includes all earlier events and no later ones.
	Pos int64
	// HistoryPending reports that the transcript lacks part of its runtime's stored history. That part predates the
	// adoption, or comes from outside changes.
	HistoryPending bool
	// Version identifies the result; it changes when the session or an entry changes. "" if unknown.
	Version string
	// Unchanged reports that the reader already has this version; Transcript is then empty.
	Unchanged bool
	// Thread is the runtime's description for a full read with Chunks, which received the items. If nil,
	// Session.Thread has it.
	Thread []runtime.DescribedPart
}

// Reading selects the part of a session to read, and the version the reader already has.
type Reading struct {
	// Window is the range of the transcript to read; nil reads all of it.
	Window *transcript.Window
	// Chunks, if set, receives the transcript of a full read and the items of its turns, instead of Detail.
	Chunks Chunks
	// Count sets Detail.Count. OmitDetails omits the details of a window's entries.
	Count, OmitDetails bool
	// Figures sets Session.Figures, with the read markers of Reader.
	Figures bool
	Reader  string
	// Has reports whether the reader already has a version; its transcript is then not read. Nil means the reader has
	// none.
	Has func(version string) bool
}

// Create holds the options of a new session; nil fields use the stored defaults. A Runtime of "" is the server's
// default. A system-owned session without a Model uses its runtime's default.
type Create struct {
	// ID is the session's id if its runtime accepts one; "" generates one.
	ID      string
	Cwd     string
	Runtime string
	// RuntimeNamed reports that the client named the runtime, which codex-manager's clients never do.
	RuntimeNamed      bool
	Model             *string
	ApprovalPolicy    *string
	NetworkAccess     *string
	FilesystemSandbox *string
	AcceptEdits       bool
	NonInteractive    bool
	DynamicTools      json.RawMessage
	SystemOwned       bool
	// ImplicitSources is the allowed scope of implicit reads. It is one of its runtime's
	// runtime.Capabilities.ImplicitSources; "" means the first.
	ImplicitSources string
	// NativeTools sets whether the agent has native tools: runtime.NativeToolsOn (same as "") or
	// runtime.NativeToolsOff.
	NativeTools string
	// ProjectID is the project of the session, "" for none.
	ProjectID string
	// Worktree makes a git worktree of Cwd for the session; nil: it works in Cwd itself.
	Worktree *Worktree
	// Child is the lineage of a session that another session starts, nil for others.
	Child *Lineage
}

// Worktree selects how the worktree of a new session is made.
type Worktree struct {
	// Base is a commit, "" for the last one. Branch is the new branch, "" for a name of its own.
	Base, Branch string
}

// ListQuery selects a page of sessions.
type ListQuery struct {
	// Text selects sessions with the text in their title or first message, ignoring case; "" selects all.
	Text string
	// Runtime selects the sessions of one runtime; "" selects all.
	Runtime string
	// ProjectID selects the sessions of one project, NoProject those outside projects, "" all.
	ProjectID string
	// Projects, when not nil, selects the sessions of these projects; empty selects none.
	Projects []string
	// State selects the sessions in that state now; "" selects all.
	State State
	// Sort is the order; "" means SortUpdated.
	Sort Sort
	// Figures sets Session.Figures, with the read markers of Reader.
	Figures            bool
	Reader             string
	Archived           bool
	Cursor             string
	Limit              int
	IncludeSystemOwned bool
}

// NoProject is the ListQuery.ProjectID that selects sessions outside projects.
const NoProject = "none"

// Sort is an order of sessions, newest first.
type Sort string

// The orders of sessions: by last change, and by creation.
const (
	SortUpdated Sort = "updated"
	SortCreated Sort = "created"
)

// Page is a page of sessions, newest first; NextCursor is "" on the last one.
type Page struct {
	Sessions   []Session
	NextCursor string
	// Pos is the event stream cursor that matches the page.
	Pos int64
}

// Message is a user's message to a session. Its options, except Effort, are stored as the session's controls.
type Message struct {
	// Input holds native input parts. Text is shorthand for one text part before them, Images (URLs) for image parts
	// after them.
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
	// Alone requires a new turn; while another turn runs, the call fails with runtime.ErrTurnActive.
	Alone bool
	// Begin is stored just before the message is sent to the runtime, in the order of the session's turns. If it
	// fails, the message is not sent. Nil stores nothing.
	Begin journal.Unit `json:"-"`
	// Key identifies a request that may be repeated, "" otherwise. The sender first looks up the result by this key
	// (outbox.Outbox.TurnForKey).
	Key string `json:"-"`
	// Author is who sent it; a message without one is the caller's.
	Author Author `json:"-"`
	// Names are the Images under the client's names for them, which the queue stores; nil if they are the same.
	Names []string `json:"-"`
	// Accepted runs in the transaction that stores the resulting turn; nil stores nothing.
	Accepted func(ctx context.Context, tx database.Tx, turnID string) ([]journal.Event, error) `json:"-"`
	// Mail is the envelope of a queued message from another session, nil for others.
	Mail *Envelope `json:"-"`
	// Retries is the turn that this message retries (manager.Service.Retry).
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

// The states of an interactive request. All except Pending are final.
const (
	RequestPending  RequestStatus = "pending"
	RequestResolved RequestStatus = "resolved"
	RequestExpired  RequestStatus = "expired"
)

// Request is a runtime's question to a user, stored when it arrives. Ids are never reused.
type Request struct {
	ID        string
	Kind      runtime.RequestKind
	SessionID string
	TurnID    string
	ItemID    string
	Method    string
	Summary   string
	Params    json.RawMessage
	// Changes are the files that a request asks to change, where Reader.AllPending reads them.
	Changes []wire.ChangedFile
	// OfServer reports that this server asks, about a call to one of its tools.
	OfServer bool
	// Decisions and Questions come from the runtime's InteractiveRequested.
	Decisions, Questions json.RawMessage
	// Asked is the request in neutral terms; zero for a request stored before this field existed.
	Asked  runtime.Asked
	Status RequestStatus
	// Reply is the answer and DecidedBy its actor; both are empty while the request is pending.
	Reply     *runtime.Reply
	DecidedBy string
	// CreatedAt and SettledAt are in ms.
	CreatedAt, SettledAt int64
}

// Sentinel errors, for errors.Is.
var (
	// ErrNotFound means that neither the server nor a runtime has a session with that id.
	ErrNotFound = errors.New("session not found")
	// ErrProjectNotFound means that no project has that id.
	ErrProjectNotFound = errors.New("project not found")
	// ErrRequestNotFound means that no interactive request has that id and kind.
	ErrRequestNotFound = errors.New("interactive request not found")
	// ErrNoActiveTurn means that the session has no running turn.
	ErrNoActiveTurn = errors.New("no active turn")
	// ErrWrongTurn means that the named turn is not the running one.
	ErrWrongTurn = errors.New("that turn is not running")
	// ErrTurnUnsettled means that it is not known yet whether a turn started; the caller may ask again.
	ErrTurnUnsettled = errors.New("it is not known yet whether the turn started")
	// ErrTurnUnknown means that it will stay unknown whether a turn started, or which one.
	ErrTurnUnknown = errors.New("it is unknown whether the turn started")
	// ErrNotMaterialized means that the runtime has nothing stored under the session's id. The session cannot be
	// archived, unarchived or resumed.
	ErrNotMaterialized = errors.New("session has nothing stored in its runtime")
	// ErrDefaultsLocked means that the configuration sets the controls of new sessions.
	ErrDefaultsLocked = errors.New("default controls are locked by configuration (SESSION_DEFAULTS_LOCKED)")
	// ErrBadCursor means that this server did not issue the list cursor.
	ErrBadCursor = errors.New("unknown cursor: it was not issued by this server")
)

// DeletedError means that the session was permanently deleted (410).
type DeletedError struct {
	SessionID string
	Title     string
	// DeletedAt is in ms.
	DeletedAt int64
	// Runtime is the conversation's runtime, NativeID its id in that runtime; "" if not stored.
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

// SettledError means that an interactive request was already settled; it carries the result.
type SettledError struct{ Request Request }

// Error implements error.
func (e *SettledError) Error() string {
	return fmt.Sprintf("request %s is already %s (by %s)", e.Request.ID, e.Request.Status, e.Request.DecidedBy)
}

// TitleError means that a session's title is not the expected one.
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

// DeletePatience limits the total time a deletion waits for the runtime. With the store and an earlier wait, the
// caller gets an answer within 10 s.
const DeletePatience = 6 * time.Second
