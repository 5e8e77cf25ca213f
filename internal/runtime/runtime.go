// Package runtime is the vocabulary between the harness and the coding-agent runtimes it supervises.
//
// It owns the adapter interface, the capability object, and the neutral meaning of a runtime's output (Signal
// and Change) and input (StartTurn, Reply, ...). It must never know a provider's shapes: those stay in
// runtime/<name>. It imports nothing of this module.
package runtime

import (
	"context"
	"encoding/json"
	"time"
)

// Adapter drives one kind of runtime. It has what every runtime supports; optional interfaces (Steerer, Historian, ...)
// have the rest. All methods may be called from any goroutine. A method that needs the runtime waits for one that is
// starting, bounded by ctx and the start timeout. Without a runtime it returns ErrUnavailable.
type Adapter interface {
	// Name is the runtime's name as stored with a session, for example "codex".
	Name() string
	// Capabilities returns what this runtime can do; callers refuse what it cannot.
	Capabilities() Capabilities
	// Status reports the current state of the runtime process. It never blocks.
	Status() Status
	// Auth reports whether the runtime would find credentials. It uses no network, asks no person, starts nothing, and
	// names no secret.
	Auth(ctx context.Context) (AuthStatus, error)
	// Models lists the models of the runtime, the recommended ones first. It may have to ask the runtime.
	Models(ctx context.Context) ([]Model, error)

	// Start begins supervision and returns at once. A missing runtime shows in Status and is no error. A second call
	// is allowed.
	Start(ctx context.Context) error
	// Stop ends the runtime (SIGTERM, then SIGKILL to its process group) and waits for every goroutine. A second call
	// is allowed.
	Stop(ctx context.Context) error

	// Threads are the conversations of the runtime.
	Threads() Threads
}

// Threads runs the conversations of a runtime. A live conversation is named by its session's id (Thread.ID). A stored
// one, as for Historian and Librarian, is named by the runtime's own id (Thread.NativeID).
type Threads interface {
	// StartThread opens a new conversation.
	StartThread(ctx context.Context, in StartThread) (Thread, error)
	// ResumeThread loads a stored conversation so that turns can run in it. Resuming a loaded one is allowed.
	ResumeThread(ctx context.Context, in ResumeThread) (Thread, error)
	// CloseThread releases the process or the memory of an unused conversation, which can be resumed later. It leaves one
	// that would lose something. ErrTurnActive while it is in use.
	CloseThread(ctx context.Context, threadID string) error

	// StartTurn sends a user message. The thread is resumed first when this process has not loaded it. With ActiveTurnID
	// the message steers that turn and its id is returned; if that turn has ended, a new one starts.
	StartTurn(ctx context.Context, in StartTurn) (StartedTurn, error)
	// InterruptTurn asks a running turn to end; its TurnCompleted follows as a signal.
	InterruptTurn(ctx context.Context, threadID, turnID string) error
	// CheckReply reports whether the runtime accepts a reply to a request, without asking it: *ReplyError if not.
	CheckReply(ref RequestRef, reply Reply) error
	// Answer settles an interactive request. ErrRequestGone when the process that asked is no longer running.
	Answer(ctx context.Context, ref RequestRef, reply Reply) error
}

// Sink receives everything an adapter reads, one batch at a time, in the runtime's order. It may block: the
// adapter then reads on into a bounded queue and at last stops reading, so that nothing is dropped. It must not
// call back into the adapter.
type Sink func(Batch)

// Batch is everything one native line means. It is stored in one transaction, in order, once. Without signals it only
// moves the position and the state on.
type Batch struct {
	// Generation names the runtime process that said it (a UUIDv7 per start).
	Generation string
	// Offset is where the line ends in the output of its process, counted in bytes over the whole generation; 0
	// when the process cannot outlive this one. It is stored with the batch's changes, so that a server that
	// attaches later reads on from there and processes nothing twice. The lines of a generation come in the
	// order of their offsets.
	Offset int64
	// Native is the line as the runtime wrote it, nil when it is the raw form of the signal itself.
	Native  json.RawMessage
	Signals []Signal
	// About is the session Native is about when no signal names it: a line may mean something only to those after it.
	About string
	// State is all a translator has to remember after this line, as JSON, nil when it is what it was. It is stored with
	// what the batch changes. A server that attaches to the process gets it in Resumption.State, who starts the next one of its
	// conversation asks for it (stdio.Setup.LastState).
	State json.RawMessage
	// Refuse, when set, answers a request in the batch that cannot be decided, and returns when that was sent.
	// Unlike the adapter it may be called from the Sink: the request must be answered before the batch is
	// stored, or a server that dies in between leaves the agent waiting.
	Refuse func(ctx context.Context, request Signal) error
	// Stored, when set, is to be called once the batch is stored for good, or once a later one of the same generation is.
	// It does not block.
	Stored func()
}

// Size is about what the batch takes, in bytes.
func (b *Batch) Size() int {
	size := len(b.Native)
	for i := range b.Signals {
		size += len(b.Signals[i].Raw)
	}
	return size
}

// SignalKind is the kind of a Signal.
type SignalKind string

// The kinds of signal.
const (
	SignalNotification SignalKind = "notification" // the runtime reports something
	// the runtime asks something and waits for Answer (or was refused already: Change is nil)
	SignalRequest SignalKind = "request"
	SignalStarted SignalKind = "started" // a runtime process is initialised and usable
	SignalExited  SignalKind = "exited"  // that process is gone; comes after everything it said
	// an earlier server's call (Method, RequestID, ThreadID if any) has no answer; it is not repeated
	SignalUnanswered SignalKind = "unanswered"
)

// Signal is one thing a runtime said.
type Signal struct {
	Kind SignalKind
	// Generation names the runtime process (a UUIDv7 per start): native request ids repeat after a restart, with it they
	// do not.
	Generation string
	Method     string
	// Raw is the native frame byte for byte, Params its params member (nil when absent). Valid UTF-8.
	Raw    json.RawMessage
	Params json.RawMessage
	// Layout has the offsets of method, params and id in Raw; zero when the adapter does not set it (Raw is then parsed).
	Layout Layout
	// RequestID is the native id of a request, byte for byte.
	RequestID json.RawMessage
	// ThreadID, TurnID and ItemID are set when the frame names them. A conversation with a session's id goes by
	// that one, any other one by the runtime's own.
	ThreadID, TurnID, ItemID string
	ReceivedAt               time.Time
	// Change is what the signal means for stored state, nil when nothing.
	Change Change
	// Exit describes the end of the process, SignalExited only.
	Exit *Exit
	// Serves is the one conversation the process that started or exited is for (as ThreadID), "" when it is for all of the
	// runtime.
	Serves string
	// WorkerOpening: a worker's conversation was asked for whose id is still to come (Namer), so an unknown conversation may be
	// that one.
	WorkerOpening bool
}

// Resumption is what is stored of a runtime process that outlived the server it talked to.
type Resumption struct {
	// Offset is the last Batch.Offset stored, State the last Batch.State; nil when there was none.
	Offset int64
	State  json.RawMessage
	// Turns are the turns that run in it, Requests those it asked in them: pending ones, and ones whose answer may not
	// have reached it.
	Turns    []RunningTurn
	Requests []OpenRequest
	// Described are turns and their conversations, as the runtime describes them, whose ids are known by KnownID and have
	// to be given back to it.
	Described []json.RawMessage
}

// RunningTurn is a turn that has not ended.
type RunningTurn struct{ ThreadID, TurnID string }

// OpenRequest is an interactive request the runtime may still wait for.
type OpenRequest struct {
	ThreadID, TurnID string
	RequestID        json.RawMessage
}

// Change is the neutral meaning of a signal: one of TurnStarted, TurnCompleted, ItemChanged, InteractiveRequested,
// RequestResolved, ThreadNamed, ThreadOpened, TextDelta, BackgroundChanged, TurnRetrying.
type Change interface{ change() }

// TurnStarted says a turn began. StartedAt is in ms, 0 when unknown.
type TurnStarted struct {
	TurnID    string
	StartedAt int64
	// Native is the turn as the runtime describes it, without its items; nil when it does not.
	Native json.RawMessage
	// Own says that no message began it: the agent did, for example because background work ended.
	Own bool
}

// TurnStatus is the state of a turn.
type TurnStatus string

// The states of a turn. InProgress is the only one that is not final.
const (
	TurnInProgress  TurnStatus = "inProgress"
	TurnDone        TurnStatus = "completed"
	TurnInterrupted TurnStatus = "interrupted"
	TurnFailed      TurnStatus = "failed"
)

// TurnCompleted says a turn is over. Times are in ms, 0 when unknown.
type TurnCompleted struct {
	TurnID string
	Status TurnStatus
	Error  string
	// Kind says what the error is: one of the sentinels (ErrAuthRequired, ErrTransient, ...), several of them
	// joined, or nil when the runtime does not say.
	Kind error
	// ProviderStatus is the HTTP status that the model provider refused with, 0 when it is not known.
	ProviderStatus int
	// Remedy is what a person can do about the error, "" when nothing special.
	Remedy      string
	StartedAt   int64
	CompletedAt int64
	// Native is as in TurnStarted.
	Native json.RawMessage
}

// ItemChanged says an item of a turn started (Done false) or ended. It may come after the turn's TurnCompleted.
type ItemChanged struct {
	TurnID string
	Item   Item
	Done   bool
}

// InteractiveRequested says the runtime waits for a person: to approve, to answer questions, or to run a client's tool.
type InteractiveRequested struct {
	Kind RequestKind
	// Summary is one line for a person, for example "Command approval required: ls".
	Summary string
	// Decisions is the JSON list of the decisions the runtime offers, nil when it offers none in particular.
	Decisions json.RawMessage
	// Questions is a JSON list that stands in for the questions of the request's parameters, nil when these have their own
	// or none.
	Questions json.RawMessage
	// Asked is the request in neutral words.
	Asked Asked
}

// RequestResolved says the runtime itself closed a request of this generation (answered, or dropped with its turn).
type RequestResolved struct{ RequestID json.RawMessage }

// ThreadNamed says the conversation's stored name changed.
type ThreadNamed struct{ Name string }

// ThreadOpened says whose a new conversation is. SystemOwned: it is a worker's (StartThread.SystemOwned). ParentID: it is
// that of a sub-agent of this conversation, and belongs to whom that belongs to; "" for none.
type ThreadOpened struct {
	SystemOwned bool
	ParentID    string
}

// Values of TextDelta.Into: a text that stands in the item's content, behind what the item began with; and what a path
// into its details begins with.
const (
	TextContent = "content"
	TextDetails = "details/"
)

// TextDelta says that a text of the signal's item grew. It changes nothing stored; it may be stored together with the
// ones after it.
type TextDelta struct {
	// Key separates the texts of one item.
	Key string
	// Into is where the text shows in the item: TextContent, or TextDetails with the path of a member
	// ("details/summary/0"), "" for nowhere.
	Into string
	// Raw[Start:End] of the signal is what was added, as a JSON string with its quotes: put into another delta of the same
	// text in that place, it makes a valid delta.
	Start, End int
	// Outlives says that more may come after the turn has ended.
	Outlives bool
}

func (TurnStarted) change()          {}
func (TurnCompleted) change()        {}
func (ItemChanged) change()          {}
func (InteractiveRequested) change() {}
func (RequestResolved) change()      {}
func (ThreadNamed) change()          {}
func (ThreadOpened) change()         {}
func (TextDelta) change()            {}
func (TurnRetrying) change()         {}

// TurnRetrying says that a turn cannot reach its model, and that the runtime tries again by itself.
type TurnRetrying struct {
	// TurnID is "" when the runtime does not name the turn.
	TurnID string
	// Attempt is the number of this retry from 1, 0 when the runtime does not count; Of is how many it makes, 0 when
	// unknown.
	Attempt, Of int
	// Reason is why the last attempt failed, Remedy what a person can do about it.
	Reason, Remedy string
	// ProviderStatus is as in TurnCompleted.
	ProviderStatus int
}

// RequestKind is the kind of an interactive request.
type RequestKind string

// The kinds of interactive request.
const (
	RequestApproval  RequestKind = "approval"
	RequestToolInput RequestKind = "tool_input"
	RequestToolCall  RequestKind = "tool_call"
)

// LongItem is from which size (bytes) an item is given as Item.Long and Item.LongContent, and of a request no arguments
// are given (Asked).
const LongItem = 1 << 20

// Item is one entry of a turn, already in the words of codex-manager's transcripts.
type Item struct {
	ID      string
	Role    string // user, assistant or system
	Type    string // the runtime's item type
	Content string
	Details string // 2-space JSON of the native item, "" for messages
	// Long is the native item in place of Details, when it is too long to be held twice; nil for others.
	Long json.RawMessage `json:",omitempty"`
	// LongContent stands in for Content, when that is too long to be held twice: JSON strings whose texts, one after the
	// other, are the content.
	LongContent []json.RawMessage `json:",omitempty"`
	// Times in ms, 0 when unknown.
	StartedAt, CompletedAt int64
	// Native is a message as the runtime describes it; nil of other items, whose Details say the same.
	Native json.RawMessage `json:",omitempty"`
	// Outlives says that the item may continue after its turn.
	Outlives bool
	// Images are those whose bytes are within the item.
	Images []Image `json:"-"`
}

// Turn is one stored turn of a conversation. Times are in ms, 0 when unknown.
type Turn struct {
	ID     string
	Status TurnStatus
	// Error, Kind, ProviderStatus and Remedy are as in TurnCompleted.
	Error, Remedy          string
	Kind                   error
	ProviderStatus         int
	StartedAt, CompletedAt int64
	Items                  []Item
	// Native is as in TurnStarted.
	Native json.RawMessage
}

// ThreadState is what is stored of a conversation beyond the runtime's own description of it. From it an
// adapter can say how the runtime would describe it now without asking.
type ThreadState struct {
	ID string
	// Title is what it is called, Opening the message it began with, "" when there is none.
	Title, Opening string
	// UpdatedAt is in ms.
	UpdatedAt int64
	// Running says that a turn runs, Failed that the last one failed.
	Running, Failed bool
	// Waiting are the kinds of request that wait for a person.
	Waiting []RequestKind
	// Turns in order, with those of their items that ended: Native of messages, Details of others. None for a description
	// without turns.
	Turns []Turn
}

// Thread is one conversation of a runtime. Times are in ms.
type Thread struct {
	// ID is its session's id. A runtime whose sessions go by its own ids (codex) says that one; "" leaves the choice to
	// who takes it in.
	ID string
	// NativeID is the runtime's own id of it, "" when that is ID.
	NativeID             string
	Name                 string
	Preview              string
	Cwd                  string
	Source               string
	ModelProvider        string
	Model                string
	CreatedAt, UpdatedAt int64
	Archived             bool
	Turns                []Turn
	// Raw is the native thread object byte for byte.
	Raw json.RawMessage
}

// Native is the runtime's own id of the conversation.
func (t Thread) Native() string {
	if t.NativeID == "" {
		return t.ID
	}
	return t.NativeID
}

// StartThread are the arguments of Adapter.StartThread. Empty fields leave the runtime's default.
type StartThread struct {
	// SessionID is what the conversation is to go by. A runtime whose conversations have names of their own that clients
	// know (codex) may answer with another Thread.ID; nothing it says of the conversation may come before it knows which.
	SessionID      string
	Cwd, Model     string
	ApprovalPolicy string // untrusted, on-failure, on-request or never
	Sandbox        string // read-only, workspace-write or danger-full-access
	NetworkAccess  string // restricted or enabled
	DynamicTools   json.RawMessage
	RawEvents      bool // ask for the provider's rawest notifications too
	Ephemeral      bool
	// Implicit is what the agent may read by itself: one of Capabilities.ImplicitSources.
	Implicit string
	// NativeToolsOff says that the agent is to have no tools of its own, where Capabilities.NativeToolsOff does.
	NativeToolsOff bool
	// SystemOwned says that it is a worker's. A runtime that names its conversations itself (Namer) has ThreadOpened come
	// before all else that it says of it.
	SystemOwned bool
}

// ResumeThread are the arguments of Adapter.ResumeThread.
type ResumeThread struct {
	// ThreadID is the session's id, NativeID the runtime's own one of the conversation ("" when it is the same).
	ThreadID, NativeID string
}

// ListThreads are the arguments of Adapter.ListThreads.
type ListThreads struct {
	Cursor   string
	Limit    int
	Archived bool
}

// ThreadPage is one page of conversations. NextCursor is empty on the last one.
type ThreadPage struct {
	Threads    []Thread
	NextCursor string
}

// StartTurn are the arguments of Adapter.StartTurn. Empty fields keep what the conversation had.
type StartTurn struct {
	// ThreadID and NativeID are as in ResumeThread: the conversation may have to be loaded first.
	ThreadID, NativeID string
	// Input are native input parts, for example {"type":"text","text":"..."}.
	Input        []json.RawMessage
	ActiveTurnID string
	// Alone refuses with ErrTurnActive where the input would be steered into a running turn.
	Alone bool
	// Continues says that something was said before: a conversation that the runtime has lost is refused with
	// ErrThreadNotFound then, rather than begun anew as if nothing had been.
	Continues bool
	// History, when set, has the earlier messages of a conversation that the runtime has lost: it is begun
	// anew, and the agent gets them first. It is not part of the message. Only for runtimes with
	// Capabilities.Reconstruct.
	History string
	// Aside, when set, is text that the agent gets besides the message, and not part of it. Only for runtimes
	// without Capabilities.DenyReason.
	Aside                  string
	Cwd, Model, Effort     string
	ApprovalPolicy         string
	Sandbox, NetworkAccess string
	CollaborateMode        json.RawMessage
}

// StartedTurn is the result of Adapter.StartTurn.
type StartedTurn struct {
	TurnID string
	// Steered is true when the input went into a turn that was already running.
	Steered bool
	// NativeID is the runtime's own id of a conversation that was begun anew (StartTurn.History), "" when it is the old one.
	NativeID string
}

// RequestRef names a pending request of a runtime process.
type RequestRef struct {
	Generation string
	RequestID  json.RawMessage
	Method     string
	Kind       RequestKind
	// ThreadID, TurnID and Params are those of the request.
	ThreadID, TurnID string
	Params           json.RawMessage
	// Asked is what the request was stored with.
	Asked Asked
}

// Reply is the settled answer of an interactive request; which fields count depends on the request's kind.
type Reply struct {
	// Decision is accept, decline or cancel (approval, tool input).
	Decision string
	// Scope is turn or session (approval).
	Scope string
	// Choice is one of the offered decisions (InteractiveRequested.Decisions) as it is, when no plain decision says as
	// much (approval).
	Choice json.RawMessage
	// Option is the id of one of the offered options (Asked.Options); Decision agrees with it.
	Option string
	// UpdatedInput stands in for the tool's arguments, Remember is a rule for later requests like this; a runtime that has
	// no place for one refuses the reply (CheckReply).
	UpdatedInput, Remember json.RawMessage
	// Message says why, in a person's words. It reaches a runtime that has a place for it.
	Message string
	// Answers is the object of answers by question id (tool input).
	Answers json.RawMessage
	// Success and ContentItems are a tool call's result.
	Success      bool
	ContentItems json.RawMessage
	// Raw, when set, is sent as the result as it is.
	Raw json.RawMessage
	// Refusal, when set, is sent as an error instead of a result.
	Refusal string
}
