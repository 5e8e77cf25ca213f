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

// Adapter drives one kind of runtime. It has what every runtime supports; optional interfaces (Steerer, History, ...)
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
// one, as for History and Archiver, is named by the runtime's own id (Thread.NativeID).
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

// Batch is the meaning of one native line. It is stored in one transaction, in order, once. Without signals it only
// advances the position and the state.
type Batch struct {
	// Generation identifies the runtime process (a UUIDv7 per start).
	Generation string
	// Offset is the end of the line in the output of its process, in bytes over the whole generation; 0 when the process
	// cannot outlive this one. It is stored with the batch's changes, so a server that attaches later continues there
	// and processes nothing twice. Offsets of a generation only grow.
	Offset int64
	// Native is the line as the runtime wrote it, nil when it is the raw form of the signal.
	Native  json.RawMessage
	Signals []Signal
	// About is the session of Native when no signal names it: some lines matter only to later ones.
	About string
	// State is the whole state of the translator after this line, as JSON, nil when unchanged. It is stored with the
	// batch's changes. A server that attaches to the process gets it in Resumption.State. The conversation's next
	// process reads it with stdio.Setup.LastState.
	State json.RawMessage
	// Refuse, when set, refuses a request in the batch that cannot be decided, and returns once that was sent. The Sink
	// may call it, unlike the adapter. The request must be refused before the batch is stored: otherwise a server that
	// dies in between leaves the agent waiting.
	Refuse func(ctx context.Context, request Signal) error
	// Stored, when set, must be called once the batch or a later one of the same generation is durable. It does not
	// block.
	Stored func()
}

// Size is the approximate size of the batch in bytes.
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
	// the runtime waits for Answer; a nil Change says that the request was already refused
	SignalRequest SignalKind = "request"
	SignalStarted SignalKind = "started" // a runtime process is initialized and usable
	SignalExited  SignalKind = "exited"  // that process has ended; no signal of it follows
	// an earlier server's call (Method, RequestID, ThreadID if any) has no answer; it is not repeated
	SignalUnanswered SignalKind = "unanswered"
)

// Signal is one message of a runtime.
type Signal struct {
	Kind SignalKind
	// Generation identifies the runtime process (a UUIDv7 per start). Native request ids repeat after a restart; with it
	// they are unique.
	Generation string
	Method     string
	// Raw is the native frame byte for byte, Params its params member (nil when absent). Valid UTF-8.
	Raw    json.RawMessage
	Params json.RawMessage
	// Layout has the offsets of method, params and id in Raw. It is zero when the adapter does not set it; Raw is then
	// parsed.
	Layout Layout
	// RequestID is the native id of a request, byte for byte.
	RequestID json.RawMessage
	// ThreadID, TurnID and ItemID are set when the frame names them. ThreadID is the session's id if there is one,
	// otherwise the runtime's own.
	ThreadID, TurnID, ItemID string
	ReceivedAt               time.Time
	// Change is the effect of the signal on stored state, nil for none.
	Change Change
	// Exit describes the end of the process, SignalExited only.
	Exit *Exit
	// Serves is the conversation of the started or ended process (as ThreadID), "" for a process of the whole runtime.
	Serves string
	// WorkerOpening says that a worker's new conversation has no id yet (Namer). An unknown conversation may be that
	// one.
	WorkerOpening bool
}

// Resumption is the stored state of a runtime process that outlived its server.
type Resumption struct {
	// Offset is the last Batch.Offset stored, State the last Batch.State; nil when there was none.
	Offset int64
	State  json.RawMessage
	// Turns are the running turns, Requests their requests: pending ones, and ones whose answer may not have arrived.
	Turns    []RunningTurn
	Requests []OpenRequest
	// Described are conversations and turns, as the runtime describes them, whose ids KnownID replaced. The runtime
	// needs its own ids.
	Described []json.RawMessage
}

// RunningTurn is a turn that has not ended.
type RunningTurn struct{ ThreadID, TurnID string }

// OpenRequest is an interactive request that may still be pending in the runtime.
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
	// Own says that the agent began the turn without a message, for example because background work ended.
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
	// Kind classifies the error: one of the sentinels (ErrAuthRequired, ErrTransient, ...), several joined, or nil when
	// unknown.
	Kind error
	// ProviderStatus is the HTTP status of the model provider's refusal, 0 when unknown.
	ProviderStatus int
	// Remedy describes what a person can do about the error, "" for nothing specific.
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

// InteractiveRequested says that the runtime waits for a person to approve something or to answer, or for a client's
// tool to run.
type InteractiveRequested struct {
	Kind RequestKind
	// Summary is one line for a person, for example "Command approval required: ls".
	Summary string
	// Decisions is the JSON list of the runtime's decisions, nil when it offers no specific ones.
	Decisions json.RawMessage
	// Questions is a JSON list that replaces the questions in the request's parameters, nil when those apply.
	Questions json.RawMessage
	// Asked is the request in neutral terms.
	Asked Asked
}

// RequestResolved says the runtime itself closed a request of this generation (answered, or dropped with its turn).
type RequestResolved struct{ RequestID json.RawMessage }

// ThreadNamed says the conversation's stored name changed.
type ThreadNamed struct{ Name string }

// ThreadOpened identifies a new conversation. SystemOwned: it belongs to a worker (StartThread.SystemOwned). ParentID:
// it belongs to a sub-agent of this conversation and has the same owner; "" for none.
type ThreadOpened struct {
	SystemOwned bool
	ParentID    string
}

// Values of TextDelta.Into: a text after the beginning of the item's content, and the prefix of a path into its details.
const (
	TextContent = "content"
	TextDetails = "details/"
)

// TextDelta says that a text of the signal's item grew. It changes no stored state, and it may be stored together with
// later deltas.
type TextDelta struct {
	// Key separates the texts of one item.
	Key string
	// Into is the place of the text in the item: TextContent, or TextDetails with the path of a member
	// ("details/summary/0"), "" for none.
	Into string
	// Raw[Start:End] of the signal is the added text, as a JSON string with its quotes. It can replace that of another
	// delta of the same text.
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

// TurnRetrying says that a turn cannot reach its model and that the runtime retries by itself.
type TurnRetrying struct {
	// TurnID is "" when the runtime does not name the turn.
	TurnID string
	// Attempt is the number of this retry from 1, Of the number of retries; 0 when unknown.
	Attempt, Of int
	// Reason is the cause of the last failure, Remedy what a person can do about it.
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

// LongItem is the size in bytes from which an item has Long and LongContent, and from which a request has no arguments
// (Asked).
const LongItem = 1 << 20

// Item is one entry of a turn in the terms of codex-manager's transcripts.
type Item struct {
	ID      string
	Role    string // user, assistant or system
	Type    string // the runtime's item type
	Content string
	Details string // 2-space JSON of the native item, "" for messages
	// Long is the native item instead of Details, when it is too long to be copied; otherwise nil.
	Long json.RawMessage `json:",omitempty"`
	// LongContent replaces Content when that is too long to be copied: JSON strings whose concatenated texts are the
	// content.
	LongContent []json.RawMessage `json:",omitempty"`
	// Times in ms, 0 when unknown.
	StartedAt, CompletedAt int64
	// Native is a message as the runtime describes it. It is nil for other items, whose Details have the same content.
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

// ThreadState is what is stored about a conversation beyond the runtime's own description. An adapter describes the
// conversation with it without asking the runtime.
type ThreadState struct {
	ID string
	// Title is its name, Opening its first message, "" when there is none.
	Title, Opening string
	// UpdatedAt is in ms.
	UpdatedAt int64
	// Running says that a turn runs, Failed that the last one failed.
	Running, Failed bool
	// PendingRequests are the kinds of its pending requests.
	PendingRequests []RequestKind
	// Turns are in order, with their completed items: Native of messages, Details of others. None for a description
	// without turns.
	Turns []Turn
}

// Thread is one conversation of a runtime. Times are in ms.
type Thread struct {
	// ID is its session's id. A runtime that names its conversations (codex) sets it; "" lets the caller choose.
	ID string
	// NativeID is the runtime's own id, "" when that is ID.
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

// StartThread are the arguments of Threads.StartThread. Empty fields leave the runtime's default.
type StartThread struct {
	// SessionID is the session of the conversation. A runtime whose own ids are visible to clients (codex) may answer
	// with another Thread.ID. It must not report anything about the conversation before its id is known.
	SessionID      string
	Cwd, Model     string
	ApprovalPolicy string // untrusted, on-failure, on-request or never
	Sandbox        string // read-only, workspace-write or danger-full-access
	NetworkAccess  string // restricted or enabled
	DynamicTools   json.RawMessage
	RawEvents      bool // ask for the provider's rawest notifications too
	Ephemeral      bool
	// Implicit limits what the agent reads on its own: one of Capabilities.ImplicitSources.
	Implicit string
	// NativeToolsOff disables the agent's own tools, if Capabilities.NativeToolsOff says so.
	NativeToolsOff bool
	// SystemOwned says that the conversation belongs to a worker. A runtime that names its conversations (Namer) sends
	// ThreadOpened before anything else about it.
	SystemOwned bool
}

// ResumeThread are the arguments of Threads.ResumeThread.
type ResumeThread struct {
	// ThreadID is the session's id, NativeID the runtime's own id ("" when it is the same).
	ThreadID, NativeID string
}

// ListThreads are the arguments of History.ListThreads.
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

// StartTurn are the arguments of Threads.StartTurn. Empty fields keep the conversation's values.
type StartTurn struct {
	// ThreadID and NativeID are as in ResumeThread: the conversation may have to be loaded first.
	ThreadID, NativeID string
	// Input are native input parts, for example {"type":"text","text":"..."}.
	Input        []json.RawMessage
	ActiveTurnID string
	// Alone refuses with ErrTurnActive instead of steering a running turn.
	Alone bool
	// Continues says that the conversation has earlier messages. A lost one is then refused with ErrThreadNotFound
	// instead of started empty.
	Continues bool
	// History, when set, has the earlier messages of a lost conversation. It is restarted, and the agent gets them
	// first. They are not part of the message. Only for runtimes with Capabilities.Reconstruct.
	History string
	// Aside, when set, is text for the agent beside the message. Only for runtimes without Capabilities.DenyReason.
	Aside                  string
	Cwd, Model, Effort     string
	ApprovalPolicy         string
	Sandbox, NetworkAccess string
	CollaborateMode        json.RawMessage
}

// StartedTurn is the result of Threads.StartTurn.
type StartedTurn struct {
	TurnID string
	// Steered says that the input steered a running turn.
	Steered bool
	// NativeID is the runtime's own id of a restarted conversation (StartTurn.History), "" when it is unchanged.
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
	// Asked is the request as stored.
	Asked Asked
}

// Reply is the settled answer of an interactive request; which fields count depends on the request's kind.
type Reply struct {
	// Decision is accept, decline or cancel (approval, tool input).
	Decision string
	// Scope is turn or session (approval).
	Scope string
	// Choice is one of InteractiveRequested.Decisions, unchanged, if no plain decision is equivalent (approval).
	Choice json.RawMessage
	// Option is the id of one of Asked.Options; Decision agrees with it.
	Option string
	// UpdatedInput replaces the tool's arguments. Remember is a rule for later requests of this kind. A runtime that
	// does not support them rejects the reply (CheckReply).
	UpdatedInput, Remember json.RawMessage
	// Message is the reason in a person's words, for a runtime that supports one.
	Message string
	// Answers is the object of answers by question id (tool input).
	Answers json.RawMessage
	// Success and ContentItems are a tool call's result.
	Success      bool
	ContentItems json.RawMessage
	// Raw, when set, is sent unchanged as the result.
	Raw json.RawMessage
	// Refusal, when set, is sent as an error instead of a result.
	Refusal string
}
