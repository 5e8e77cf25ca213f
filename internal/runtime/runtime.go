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

// Adapter drives one kind of runtime. It has the operations that every runtime supports; optional interfaces
// (Steerer, History, ...) have the rest. Any goroutine may call any method. A method that needs the runtime waits for
// one that is starting, bounded by ctx and the start timeout. Without a runtime it returns ErrUnavailable.
type Adapter interface {
	// Name is the runtime's name as stored with a session, for example "codex".
	Name() string
	// Capabilities returns the runtime's features. Callers refuse requests that need others.
	Capabilities() Capabilities
	// Status reports the current state of the runtime process. It never blocks.
	Status() Status
	// Auth reports whether the runtime would find credentials. It uses no network, prompts no user, starts no
	// process, and names no secret.
	Auth(ctx context.Context) (AuthStatus, error)
	// Models lists the models of the runtime, the recommended ones first. It may send a request to the runtime.
	Models(ctx context.Context) ([]Model, error)

	// Start begins supervision and returns at once. A missing runtime is not an error; Status shows it. A second call
	// is allowed.
	Start(ctx context.Context) error
	// Stop ends the runtime (SIGTERM, then SIGKILL to its process group) and waits for every goroutine. A second call
	// is allowed.
	Stop(ctx context.Context) error

	// Threads are the conversations of the runtime.
	Threads() Threads
}

// Threads runs the conversations of a runtime. The id of a live conversation is its session's id (Thread.ID). A
// stored one, as for History and Archiver, has the runtime's own id (Thread.NativeID).
type Threads interface {
	// StartThread opens a new conversation.
	StartThread(ctx context.Context, in StartThread) (Thread, error)
	// ResumeThread loads a stored conversation so that turns can run in it. Resuming a loaded one is allowed.
	ResumeThread(ctx context.Context, in ResumeThread) (Thread, error)
	// CloseThread releases the process or the memory of an unused conversation, which can resume later. It does
	// nothing if the conversation would lose data. It returns ErrTurnActive while the conversation is in use.
	CloseThread(ctx context.Context, threadID string) error

	// StartTurn sends a user message. It first resumes a thread that this process has not loaded. With ActiveTurnID
	// the message steers that turn, and StartTurn returns its id; if that turn has ended, a new one starts.
	StartTurn(ctx context.Context, in StartTurn) (StartedTurn, error)
	// InterruptTurn requests the end of a running turn. A TurnCompleted signal follows.
	InterruptTurn(ctx context.Context, threadID, turnID string) error
	// CheckReply checks whether the runtime accepts a reply, without a request to it. It returns *ReplyError if not.
	CheckReply(ref RequestRef, reply Reply) error
	// Answer settles an interactive request. It returns ErrRequestGone when the process that sent the request has
	// exited.
	Answer(ctx context.Context, ref RequestRef, reply Reply) error
}

// Sink receives everything an adapter reads, one batch at a time, in the runtime's order. It may block. The adapter
// then reads into a bounded queue until that is full, and loses no data. A Sink must not call the adapter.
type Sink func(Batch)

// Batch is the meaning of one native line. The server stores it once, in order, in one transaction. Without signals
// it only advances the position and the state.
type Batch struct {
	// Generation identifies the runtime process (a UUIDv7 per start).
	Generation string
	// Offset is the end of the line in the output of its process, in bytes over the whole generation; 0 when the
	// process cannot outlive this one. The server stores it with the batch's changes. A server that attaches later
	// continues at this offset and processes no line twice. Offsets of a generation only grow.
	Offset int64
	// Native is the line as the runtime wrote it, nil when Signal.Raw is the same.
	Native  json.RawMessage
	Signals []Signal
	// About is the session of Native when no signal names it: some lines matter only to later ones.
	About string
	// State is the whole state of the translator after this line, as JSON, nil when unchanged. The server stores it
	// with the batch's changes. A server that attaches to the process gets it in Resumption.State. The conversation's
	// next process reads it with stdio.Setup.LastState.
	State json.RawMessage
	// Refuse, when set, refuses a request in the batch that the server cannot decide, and returns after it sent the
	// refusal. The Sink may call it, unlike the adapter. It must do so before it stores the batch: if the server
	// exits in between, the agent would wait forever.
	Refuse func(ctx context.Context, request Signal) error
	// Stored, when set, must be called once this batch or a later one of the same generation is durable. It does not
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
	// the runtime waits for Answer; a nil Change means that the adapter has already refused the request
	SignalRequest SignalKind = "request"
	SignalStarted SignalKind = "started" // a runtime process is initialized and usable
	SignalExited  SignalKind = "exited"  // that process has ended; no signal of it follows
	// an earlier server's call (Method, RequestID, ThreadID if any) has no answer, and the adapter does not repeat it
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
	// Change is the effect of the signal on the stored state, nil for none.
	Change Change
	// Exit describes the end of the process, for SignalExited only.
	Exit *Exit
	// Serves is the conversation of the started or exited process (as ThreadID), "" for a process of the whole
	// runtime.
	Serves string
	// WorkerOpening means that a worker's new conversation has no id yet (Namer). An unknown conversation may be that
	// one.
	WorkerOpening bool
}

// Resumption is the stored state of a runtime process that outlived its server.
type Resumption struct {
	// Offset is the last Batch.Offset stored, State the last Batch.State; nil when there was none.
	Offset int64
	State  json.RawMessage
	// Turns are the running turns. Requests are their pending requests, and those with an answer that may not have
	// arrived.
	Turns    []RunningTurn
	Requests []OpenRequest
	// Described are the runtime's descriptions of conversations and turns with ids that KnownID replaced. The runtime
	// needs the original ids.
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

// TurnStarted reports that a turn began. StartedAt is in ms, 0 when unknown.
type TurnStarted struct {
	TurnID    string
	StartedAt int64
	// Native is the runtime's description of the turn, without its items; nil when there is none.
	Native json.RawMessage
	// Own means that the agent started the turn without a message, for example because background work ended.
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

// TurnCompleted reports that a turn ended. Times are in ms, 0 when unknown.
type TurnCompleted struct {
	TurnID string
	Status TurnStatus
	Error  string
	// Kind classifies the error: one of the sentinels (ErrAuthRequired, ErrTransient, ...), several joined ones, or
	// nil when unknown.
	Kind error
	// ProviderStatus is the HTTP status of the model provider's refusal, 0 when unknown.
	ProviderStatus int
	// Remedy describes how a user can fix the error, "" when there is no specific way.
	Remedy      string
	StartedAt   int64
	CompletedAt int64
	// Native is as in TurnStarted.
	Native json.RawMessage
}

// ItemChanged reports that an item of a turn started (Done false) or ended. It may follow the turn's TurnCompleted.
type ItemChanged struct {
	TurnID string
	Item   Item
	Done   bool
}

// InteractiveRequested reports that the runtime waits for a user's approval or answer, or for the result of a
// client's tool.
type InteractiveRequested struct {
	Kind RequestKind
	// Summary is one line for a user, for example "Command approval required: ls".
	Summary string
	// Decisions is the JSON list of the runtime's decisions, nil when it offers no specific ones.
	Decisions json.RawMessage
	// Questions is a JSON list that replaces the questions in the request's parameters; nil leaves them unchanged.
	Questions json.RawMessage
	// Asked is the request in neutral terms.
	Asked Asked
}

// RequestResolved reports that the runtime closed a request of this generation: answered it, or dropped it with its
// turn.
type RequestResolved struct{ RequestID json.RawMessage }

// ThreadNamed reports a new stored name of the conversation.
type ThreadNamed struct{ Name string }

// ThreadOpened identifies a new conversation. SystemOwned marks one that belongs to a worker
// (StartThread.SystemOwned). ParentID is the conversation of which this one is a sub-agent, with the same owner; ""
// for none.
type ThreadOpened struct {
	SystemOwned bool
	ParentID    string
}

// Values of TextDelta.Into: text to append to the item's content, and the prefix of a path into its details.
const (
	TextContent = "content"
	TextDetails = "details/"
)

// TextDelta reports that a text of the signal's item grew. It changes no stored state. The server may store it
// together with later deltas.
type TextDelta struct {
	// Key distinguishes the texts of one item.
	Key string
	// Into is the place of the text in the item: TextContent, or TextDetails with the path of a member
	// ("details/summary/0"); "" for none.
	Into string
	// Raw[Start:End] of the signal is the added text, as a JSON string with its quotes. It can replace that of another
	// delta of the same text.
	Start, End int
	// Outlives means that more text may follow after the end of the turn.
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

// TurnRetrying reports that a turn cannot reach its model and that the runtime retries by itself.
type TurnRetrying struct {
	// TurnID is "" when the runtime does not name the turn.
	TurnID string
	// Attempt is the number of this retry from 1, Of the number of retries; 0 when unknown.
	Attempt, Of int
	// Reason is the cause of the last failure, Remedy how a user can fix it.
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

// LongItem is the minimum size in bytes of an item that has Long and LongContent, and of a request without arguments
// (Asked).
const LongItem = 1 << 20

// Item is one entry of a turn in the terms of codex-manager's transcripts.
type Item struct {
	ID      string
	Role    string // user, assistant or system
	Type    string // the runtime's item type
	Content string
	Details string // 2-space JSON of the native item, "" for messages
	// Long replaces Details when the native item is too long to copy; otherwise nil.
	Long json.RawMessage `json:",omitempty"`
	// LongContent replaces Content when that is too long to copy. Its elements are JSON strings; their concatenation
	// is the content.
	LongContent []json.RawMessage `json:",omitempty"`
	// Times in ms, 0 when unknown.
	StartedAt, CompletedAt int64
	// Native is the runtime's description of a message. It is nil for other items: their Details have the same
	// content.
	Native json.RawMessage `json:",omitempty"`
	// Outlives means that the item may continue after its turn.
	Outlives bool
	// Images are the images with bytes inside the item.
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

// ThreadState is the stored state of a conversation beyond the runtime's description. An adapter describes the
// conversation from both, without a request to the runtime.
type ThreadState struct {
	ID string
	// Title is its name, Opening its first message, "" when there is none.
	Title, Opening string
	// UpdatedAt is in ms.
	UpdatedAt int64
	// Running means that a turn is running, Failed that the last one failed.
	Running, Failed bool
	// PendingRequests are the kinds of its pending requests.
	PendingRequests []RequestKind
	// Turns are the turns in order, with their completed items: Native of messages, Details of others. Empty for a
	// description without turns.
	Turns []Turn
}

// Thread is one conversation of a runtime. Times are in ms.
type Thread struct {
	// ID is its session's id. A runtime that names its conversations (codex) sets it; with "" the caller chooses.
	ID string
	// NativeID is the runtime's own id, "" when it equals ID.
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

// Native returns the runtime's own id of the conversation.
func (t Thread) Native() string {
	if t.NativeID == "" {
		return t.ID
	}
	return t.NativeID
}

// StartThread are the arguments of Threads.StartThread. Empty fields keep the runtime's default.
type StartThread struct {
	// SessionID is the session of the conversation. A runtime with ids that clients see (codex) may answer with
	// another Thread.ID. It must not report a signal of the conversation before its id is known.
	SessionID      string
	Cwd, Model     string
	ApprovalPolicy string // untrusted, on-failure, on-request or never
	Sandbox        string // read-only, workspace-write or danger-full-access
	NetworkAccess  string // restricted or enabled
	DynamicTools   json.RawMessage
	RawEvents      bool // ask for the provider's rawest notifications too
	Ephemeral      bool
	// Implicit limits the files the agent reads without a request: one of Capabilities.ImplicitSources.
	Implicit string
	// NativeToolsOff disables the agent's own tools, if Capabilities.NativeToolsOff is set.
	NativeToolsOff bool
	// SystemOwned means that the conversation belongs to a worker. A runtime that names its conversations (Namer)
	// sends ThreadOpened before any other signal of it.
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
	// ThreadID and NativeID are as in ResumeThread: the runtime may have to load the conversation first.
	ThreadID, NativeID string
	// Input are native input parts, for example {"type":"text","text":"..."}.
	Input        []json.RawMessage
	ActiveTurnID string
	// Alone requests ErrTurnActive instead of steering a running turn.
	Alone bool
	// Continues means that the conversation has earlier messages. If it is lost, StartTurn returns ErrThreadNotFound
	// instead of starting it empty.
	Continues bool
	// History, when set, has the earlier messages of a lost conversation. The runtime restarts it, and the agent gets
	// them first. They are not part of the message. Only for runtimes with Capabilities.Reconstruct.
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
	// Steered reports whether the input steered a running turn.
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

// Reply is the final answer to an interactive request. The kind of the request determines which fields count.
type Reply struct {
	// Decision is accept, decline or cancel (approval, tool input).
	Decision string
	// Scope is turn or session (approval).
	Scope string
	// Choice is one of InteractiveRequested.Decisions, unchanged, if no plain decision is equivalent (approval).
	Choice json.RawMessage
	// Option is the id of one of Asked.Options. Decision must match it.
	Option string
	// UpdatedInput replaces the tool's arguments. Remember is a rule for later requests of this kind. CheckReply
	// rejects the reply if the runtime does not support them.
	UpdatedInput, Remember json.RawMessage
	// Message is the reason in the user's words, for a runtime that supports one.
	Message string
	// Answers is the object of answers by question id (tool input).
	Answers json.RawMessage
	// Success and ContentItems are a tool call's result.
	Success      bool
	ContentItems json.RawMessage
	// Raw, when set, is the result to send unchanged.
	Raw json.RawMessage
	// Refusal, when set, is the error to send instead of a result.
	Refusal string
}
