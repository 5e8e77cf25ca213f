package manager

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/runtime/processes"
)

// fake is a runtime whose output the test controls completely.
type fake struct {
	sink runtime.Sink
	// name "" means "codex". apart gives each conversation its own process and a runtime id (natives, in order).
	name    string
	apart   bool
	natives []string
	set     *processes.Set[string] // starts its processes, when set

	mu         sync.Mutex
	processes  map[string]string // if apart is set: session id → generation
	generation string
	down       bool
	status     runtime.Status // the reported status instead of ready, when set
	forgets    bool           // it refuses a replay of a conversation that it has lost
	frozen     chan struct{}  // while the channel is open, every call blocks
	threads    []runtime.Thread
	answers    []runtime.Reply
	refs       []runtime.RequestRef
	answerErr  error
	deleted    []string
	closed     []string
	deleteErr  error
	interrupts []string
	restarts   bool     // another model needs another process
	deaf       bool     // it ignores requests to end turns
	ended      []string // the conversations whose processes were ended
	turns      []runtime.StartTurn
	began      []runtime.StartThread
	// nativeToolsOff is the capability.
	nativeToolsOff bool
	keepsPair      bool // the capability KeepsFullAccessPair
	resumed        []runtime.ResumeThread
	nextTurn       int
	sources        []runtime.Source
	histories      int // how often a history was read
	historyErr     error
	asked          int // the native id of a test's last request
	// background is the work outside the turns, by session; stuck is a task that cannot be ended.
	background map[string][]runtime.BackgroundTask
	stuck      string
	// late, when set, leaves the fake of a kit without a process until the test starts it.
	late bool
	// onTurn, when set, replaces the plain start of a turn.
	onTurn func(in runtime.StartTurn, turnID string) (runtime.StartedTurn, error)
	// onName, when set, is called after the runtime has named a conversation and before it answers.
	onName func(id, name string)
	// onRollBack, when set, decides on a rollback: do performs it.
	onRollBack func(do func()) error
}

func (f *fake) Name() string { return cmp.Or(f.name, "codex") }

func (f *fake) Threads() runtime.Threads { return f }

func (f *fake) Capabilities() runtime.Capabilities {
	per := map[bool]string{true: runtime.ProcessPerThread, false: runtime.ProcessPerRuntime}[f.apart]
	return runtime.Capabilities{Interrupt: true, Approvals: true, DynamicTools: true, Images: true, ProcessPer: per, Reconstruct: !f.forgets,
		Sandboxes:        []string{"read-only", "workspace-write", "danger-full-access"},
		ApprovalPolicies: []string{"untrusted", "on-failure", "on-request", "never"},
		NetworkAccess:    []string{"restricted", "enabled"}, ImplicitSources: []string{"all", "home"},
		NativeToolsOff: f.nativeToolsOff, KeepsFullAccessPair: f.keepsPair}
}

// Sources returns the sources that a test sets.
func (f *fake) Sources(string, string, string) ([]runtime.Source, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.sources), nil
}

func (f *fake) Auth(context.Context) (runtime.AuthStatus, error) {
	return runtime.AuthStatus{State: runtime.AuthUnknown}, nil
}

func (f *fake) Models(context.Context) ([]runtime.Model, error) { return nil, nil }

func (f *fake) Status() runtime.Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.down {
		return runtime.Status{State: runtime.StateUnavailable}
	}
	if f.status.State != "" {
		return f.status
	}
	return runtime.Status{State: runtime.StateReady, Generation: f.generation}
}

func (f *fake) Start(context.Context) error { return nil }
func (f *fake) Stop(context.Context) error  { return nil }

func (f *fake) CloseThread(_ context.Context, threadID string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = append(f.closed, threadID)
	return nil
}

func (f *fake) available() error {
	if f.down {
		return fmt.Errorf("%w: the test took it away", runtime.ErrUnavailable)
	}
	return nil
}

// awake waits for a frozen runtime until ctx ends.
func (f *fake) awake(ctx context.Context) error {
	f.mu.Lock()
	frozen := f.frozen
	f.mu.Unlock()
	if frozen == nil {
		return nil
	}
	select {
	case <-frozen:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the test froze it", runtime.ErrTimeout)
	}
}

// freeze makes every call to the runtime block until thaw is called.
func (f *fake) freeze() (thaw func()) {
	frozen := make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = frozen
	return sync.OnceFunc(func() { close(frozen) })
}

func (f *fake) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	f.mu.Lock()
	if err := f.available(); err != nil {
		f.mu.Unlock()
		return runtime.Thread{}, err
	}
	id, native := ids.New(), ""
	if f.apart {
		id, native, f.natives = in.SessionID, f.natives[0], f.natives[1:]
	} else if len(f.natives) > 0 {
		id, f.natives = f.natives[0], f.natives[1:]
	}
	at := time.Now().Unix() * 1000
	t := runtime.Thread{ID: id, NativeID: native, Cwd: in.Cwd, Source: "vscode", ModelProvider: "mock", Model: "usual", CreatedAt: at,
		UpdatedAt: at, Raw: encode(map[string]string{"id": id})}
	f.threads, f.began = append(f.threads, t), append(f.began, in)
	f.mu.Unlock()
	if f.set != nil {
		_, done, err := f.set.Use(ctx, id)
		if err != nil {
			return runtime.Thread{}, err
		}
		done()
	} else if f.apart {
		f.serve(id, ids.New())
	}
	if in.SystemOwned && f.NamesThreads() {
		f.emit(runtime.Signal{Kind: runtime.SignalNotification, ThreadID: id, Change: runtime.ThreadOpened{SystemOwned: true}})
	}
	f.notify(id, "", "thread/started", nil)
	if in.SystemOwned {
		f.notify(id, "", "warning", nil)
	}
	return t, nil
}

func (f *fake) NamesThreads() bool { return !f.apart }

func (f *fake) find(id string) *runtime.Thread {
	if i := slices.IndexFunc(f.threads, func(t runtime.Thread) bool { return t.Native() == id }); i >= 0 {
		return &f.threads[i]
	}
	return nil
}

func (f *fake) withThread(id string, do func(*runtime.Thread)) (runtime.Thread, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.available(); err != nil {
		return runtime.Thread{}, err
	}
	t := f.find(id)
	if t == nil {
		return runtime.Thread{}, &runtime.Error{Runtime: "codex", Code: -32600, Message: "no rollout",
			Kind: runtime.ErrThreadNotFound}
	}
	if do != nil {
		do(t)
	}
	return *t, nil
}

func (f *fake) ResumeThread(_ context.Context, in runtime.ResumeThread) (runtime.Thread, error) {
	f.mu.Lock()
	f.resumed = append(f.resumed, in)
	f.mu.Unlock()
	return f.withThread(cmp.Or(in.NativeID, in.ThreadID), nil)
}

// ListThreads returns pages of two, so that a test of paging needs few conversations.
func (f *fake) ListThreads(_ context.Context, in runtime.ListThreads) (runtime.ThreadPage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []runtime.Thread
	for _, t := range f.threads {
		if t.Archived == in.Archived {
			all = append(all, t)
		}
	}
	from := 0
	if in.Cursor != "" {
		if _, err := fmt.Sscan(in.Cursor, &from); err != nil {
			return runtime.ThreadPage{}, err
		}
	}
	to := min(from+2, len(all))
	page := runtime.ThreadPage{Threads: all[from:to]}
	if to < len(all) {
		page.NextCursor = fmt.Sprint(to)
	}
	return page, nil
}

func (f *fake) ReadThread(ctx context.Context, id string, withTurns bool) (runtime.Thread, error) {
	if err := f.awake(ctx); err != nil {
		return runtime.Thread{}, err
	}
	var refused error
	t, err := f.withThread(id, func(*runtime.Thread) {
		if withTurns {
			f.histories++
			refused = f.historyErr
		}
	})
	return t, errors.Join(err, refused)
}

func (f *fake) NameThread(_ context.Context, id, name string) error {
	named, err := f.withThread(id, func(t *runtime.Thread) { t.Name = name })
	if err != nil {
		return err
	}
	f.notify(named.ID, "", "thread/name/updated", runtime.ThreadNamed{Name: name})
	f.mu.Lock()
	hook := f.onName
	f.mu.Unlock()
	if hook != nil {
		hook(named.ID, name)
	}
	return nil
}

func (f *fake) ArchiveThread(_ context.Context, id string) error {
	_, err := f.withThread(id, func(t *runtime.Thread) { t.Archived = true })
	return err
}

func (f *fake) UnarchiveThread(_ context.Context, id string) (runtime.Thread, error) {
	return f.withThread(id, func(t *runtime.Thread) { t.Archived = false })
}

func (f *fake) DeleteThread(ctx context.Context, id string) (int, error) {
	if err := f.awake(ctx); err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := errors.Join(f.available(), f.deleteErr); err != nil {
		return 0, err
	}
	f.deleted = append(f.deleted, id)
	f.threads = slices.DeleteFunc(f.threads, func(t runtime.Thread) bool { return t.Native() == id })
	return 1, nil
}

func (f *fake) StartTurn(ctx context.Context, in runtime.StartTurn) (runtime.StartedTurn, error) {
	if err := f.awake(ctx); err != nil {
		return runtime.StartedTurn{}, err
	}
	f.mu.Lock()
	if err := f.available(); err != nil {
		f.mu.Unlock()
		return runtime.StartedTurn{}, err
	}
	f.turns = append(f.turns, in)
	f.nextTurn++
	turnID, hook := fmt.Sprintf("turn-%d", f.nextTurn), f.onTurn
	f.mu.Unlock()
	if hook != nil {
		return hook(in, turnID)
	}
	if in.ActiveTurnID != "" {
		return runtime.StartedTurn{TurnID: in.ActiveTurnID, Steered: true}, nil
	}
	f.begin(in.ThreadID, turnID)
	return runtime.StartedTurn{TurnID: turnID}, nil
}

func (f *fake) SteerTurn(context.Context, string, string, []json.RawMessage) error { return nil }

func (f *fake) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	if err := f.awake(ctx); err != nil {
		return err
	}
	f.mu.Lock()
	f.interrupts = append(f.interrupts, turnID)
	deaf := f.deaf
	f.mu.Unlock()
	if !deaf {
		f.end(threadID, turnID, runtime.TurnInterrupted)
	}
	return nil
}

// EndProcess reports the process as killed.
func (f *fake) EndProcess(_ context.Context, threadID, _ string) error {
	f.mu.Lock()
	f.ended = append(f.ended, threadID)
	f.mu.Unlock()
	if f.apart {
		f.leave(threadID)
	} else {
		f.exited()
	}
	return nil
}

func (f *fake) Answer(_ context.Context, ref runtime.RequestRef, reply runtime.Reply) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers, f.refs = append(f.answers, reply), append(f.refs, ref)
	return f.answerErr
}

// CheckReply refuses the one scope that tests use to be refused.
func (f *fake) CheckReply(_ runtime.RequestRef, reply runtime.Reply) error {
	if reply.Scope == "ever" {
		return &runtime.ReplyError{Field: "scope", Message: "not for ever"}
	}
	return nil
}

func (f *fake) Call(context.Context, string, any) (json.RawMessage, error) { return nil, nil }

// emit sends a signal of the running process.
func (f *fake) emit(signal runtime.Signal) {
	f.emitBatch(runtime.Batch{Signals: []runtime.Signal{signal}})
}

// emitBatch sends all signals of one line.
func (f *fake) emitBatch(batch runtime.Batch) {
	f.mu.Lock()
	for _, signal := range batch.Signals {
		if batch.Generation == "" {
			batch.Generation = signal.Generation
		}
		if batch.Generation == "" {
			batch.Generation = f.processes[signal.ThreadID+signal.Serves]
		}
	}
	if batch.Generation == "" {
		batch.Generation = f.generation
	}
	f.mu.Unlock()
	batch.Signals = slices.Clone(batch.Signals)
	for i := range batch.Signals {
		batch.Signals[i].Generation = batch.Generation
		if batch.Signals[i].ReceivedAt.IsZero() {
			batch.Signals[i].ReceivedAt = time.Now()
		}
	}
	f.sink(batch)
}

func (f *fake) notify(threadID, turnID, method string, change runtime.Change) {
	params := encode(map[string]string{"threadId": threadID, "turnId": turnID})
	f.emit(runtime.Signal{Kind: runtime.SignalNotification, Method: method, ThreadID: threadID, TurnID: turnID,
		Params: params, Raw: encode(map[string]any{"method": method, "params": params}), Change: change})
}

func (f *fake) begin(threadID, turnID string) {
	f.notify(threadID, turnID, "turn/started", runtime.TurnStarted{TurnID: turnID})
}

func (f *fake) end(threadID, turnID string, status runtime.TurnStatus) {
	f.notify(threadID, turnID, "turn/completed", runtime.TurnCompleted{TurnID: turnID, Status: status})
}

func (f *fake) item(threadID, turnID string, item runtime.Item, done bool) {
	method := "item/started"
	if done {
		method = "item/completed"
	}
	f.notify(threadID, turnID, method, runtime.ItemChanged{TurnID: turnID, Item: item, Done: done})
}

func (f *fake) ask(threadID, turnID string, nativeID int, kind runtime.RequestKind, method, params string) {
	id := json.RawMessage(fmt.Sprint(nativeID))
	f.emit(runtime.Signal{Kind: runtime.SignalRequest, Method: method, ThreadID: threadID, TurnID: turnID, ItemID: "item",
		RequestID: id, Params: json.RawMessage(params),
		Raw: json.RawMessage(fmt.Sprintf(`{"method":%q,"id":%s,"params":%s}`, method, id, params)),
		Change: runtime.InteractiveRequested{Kind: kind, Summary: "May I?", Decisions: json.RawMessage(`["accept"]`),
			Questions: json.RawMessage(`[{"id":"asked"}]`)}})
}

func (f *fake) started(generation string) {
	f.mu.Lock()
	f.generation, f.down = generation, false
	f.mu.Unlock()
	f.emit(runtime.Signal{Kind: runtime.SignalStarted})
}

func (f *fake) exited() {
	killed := "SIGKILL"
	f.mu.Lock()
	f.down = true
	f.mu.Unlock()
	f.emit(runtime.Signal{Kind: runtime.SignalExited, Exit: &runtime.Exit{Signal: &killed, At: time.Now()}})
}

// serve starts a process for one session, leave ends it.
func (f *fake) serve(sessionID, generation string) {
	f.mu.Lock()
	if f.processes == nil {
		f.processes = map[string]string{}
	}
	f.processes[sessionID] = generation
	f.mu.Unlock()
	f.emit(runtime.Signal{Kind: runtime.SignalStarted, Serves: sessionID})
}

func (f *fake) leave(sessionID string) {
	f.mu.Lock()
	generation := f.processes[sessionID]
	delete(f.processes, sessionID)
	f.mu.Unlock()
	f.emit(runtime.Signal{Kind: runtime.SignalExited, Serves: sessionID, Generation: generation,
		Exit: &runtime.Exit{At: time.Now()}})
}

// seen returns copies of the turns and answers that the runtime received.
func (f *fake) seen() (turns []runtime.StartTurn, answers []runtime.Reply) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.turns), slices.Clone(f.answers)
}
