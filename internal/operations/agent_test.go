package operations_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"harness/internal/lib/javascript"
	"harness/internal/runtime"
)

// agent is a runtime that follows the markers of the mock model, without a process or a model.
type agent struct {
	sink       runtime.Sink
	generation string

	mu      sync.Mutex
	threads map[string]*conversation
	asked   map[string]string // running turns by the id of their pending request
	turns   int
	reviews []runtime.Review
	steered []string
	replies []runtime.Reply
	ending  sync.WaitGroup
}

type conversation struct {
	runtime.Thread
	turns []runtime.Turn
}

func newAgent() *agent {
	return &agent{generation: uuid.NewString(), threads: map[string]*conversation{}, asked: map[string]string{}}
}

func (a *agent) Name() string { return "scripted" }

func (a *agent) Threads() runtime.Threads { return a }

func (a *agent) Capabilities() runtime.Capabilities {
	return runtime.Capabilities{Interrupt: true, Approvals: true, ToolInput: true, DynamicTools: true, Images: true,
		Sandboxes: []string{"read-only", "workspace-write"}, ApprovalPolicies: []string{"untrusted", "never"},
		NetworkAccess: []string{"restricted", "enabled"}}
}

func (a *agent) Auth(context.Context) (runtime.AuthStatus, error) {
	return runtime.AuthStatus{State: runtime.AuthUnknown}, nil
}

func (a *agent) Models(context.Context) ([]runtime.Model, error) { return nil, nil }

func (a *agent) CloseThread(context.Context, string) error { return nil }

func (a *agent) Status() runtime.Status {
	return runtime.Status{State: runtime.StateReady, Generation: a.generation}
}

func (a *agent) Start(context.Context) error {
	a.send(runtime.Signal{Kind: runtime.SignalStarted})
	return nil
}

func (a *agent) Stop(context.Context) error {
	a.ending.Wait()
	return nil
}

func (a *agent) send(signal runtime.Signal) {
	signal.Generation, signal.ReceivedAt = a.generation, time.Now()
	if signal.Method != "" {
		signal.Params = javascript.MustEncode(map[string]string{"threadId": signal.ThreadID, "turnId": signal.TurnID})
		signal.Raw = javascript.MustEncode(map[string]any{"method": signal.Method, "id": signal.RequestID,
			"params": signal.Params})
	}
	a.sink(runtime.Batch{Generation: a.generation, Signals: []runtime.Signal{signal}})
}

func (a *agent) notify(threadID, turnID, method string, change runtime.Change) {
	a.send(runtime.Signal{Kind: runtime.SignalNotification, Method: method, ThreadID: threadID, TurnID: turnID,
		Change: change})
}

func (a *agent) add(turns []runtime.Turn) runtime.Thread {
	id := uuid.NewString()
	thread := runtime.Thread{ID: id, Source: "test", Raw: javascript.MustEncode(map[string]string{"id": id})}
	a.threads[id] = &conversation{Thread: thread, turns: slices.Clone(turns)}
	return thread
}

// find requires a.mu.
func (a *agent) find(threadID string) (*conversation, error) {
	if found, known := a.threads[threadID]; known {
		return found, nil
	}
	return nil, fmt.Errorf("%w: %s", runtime.ErrThreadNotFound, threadID)
}

func (a *agent) about(threadID string) (runtime.Thread, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := a.find(threadID)
	if err != nil {
		return runtime.Thread{}, err
	}
	return found.Thread, nil
}

func (a *agent) StartThread(context.Context, runtime.StartThread) (runtime.Thread, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add(nil), nil
}

func (a *agent) ResumeThread(_ context.Context, in runtime.ResumeThread) (runtime.Thread, error) {
	return a.about(in.ThreadID)
}

func (a *agent) ListThreads(context.Context, runtime.ListThreads) (runtime.ThreadPage, error) {
	return runtime.ThreadPage{}, nil
}

func (a *agent) ReadThread(_ context.Context, threadID string, _ bool) (runtime.Thread, error) {
	return a.about(threadID)
}

func (a *agent) NameThread(_ context.Context, threadID, _ string) error {
	_, err := a.about(threadID)
	return err
}

func (a *agent) ArchiveThread(_ context.Context, threadID string) error {
	_, err := a.about(threadID)
	return err
}

func (a *agent) UnarchiveThread(_ context.Context, threadID string) (runtime.Thread, error) {
	return a.about(threadID)
}

func (a *agent) DeleteThread(_ context.Context, threadID string) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.threads, threadID)
	return 1, nil
}

var mark = regexp.MustCompile(`MOCK_(HOLD|CMD|ASK|CALL)`)

func (a *agent) StartTurn(ctx context.Context, in runtime.StartTurn) (runtime.StartedTurn, error) {
	if in.ActiveTurnID != "" {
		return runtime.StartedTurn{TurnID: in.ActiveTurnID, Steered: true}, a.SteerTurn(ctx, in.ThreadID,
			in.ActiveTurnID, in.Input)
	}
	var part struct{ Text string }
	if err := json.Unmarshal(in.Input[0], &part); err != nil {
		return runtime.StartedTurn{}, err
	}
	a.mu.Lock()
	found, err := a.find(in.ThreadID)
	if err != nil {
		a.mu.Unlock()
		return runtime.StartedTurn{}, err
	}
	a.turns++
	turnID := fmt.Sprintf("turn-%d", a.turns)
	found.turns = append(found.turns, runtime.Turn{ID: turnID, Status: runtime.TurnInProgress})
	a.mu.Unlock()
	a.notify(in.ThreadID, turnID, "turn/started", runtime.TurnStarted{TurnID: turnID})
	a.say(in.ThreadID, turnID, "user", part.Text)
	switch did := mark.FindStringSubmatch(part.Text); {
	case did == nil:
		a.end(in.ThreadID, turnID, runtime.TurnDone)
	case did[1] != "HOLD":
		kind := map[string]runtime.RequestKind{
			"CMD": runtime.RequestApproval, "ASK": runtime.RequestToolInput, "CALL": runtime.RequestToolCall}[did[1]]
		id := javascript.MustEncode("request of " + turnID)
		a.mu.Lock()
		a.asked[string(id)] = turnID
		a.mu.Unlock()
		a.send(runtime.Signal{Kind: runtime.SignalRequest, Method: "test/" + string(kind), ThreadID: in.ThreadID,
			TurnID: turnID, RequestID: id, Change: runtime.InteractiveRequested{Kind: kind, Summary: "May I?",
				Questions: json.RawMessage(`[{"id":"q"}]`)}})
	}
	return runtime.StartedTurn{TurnID: turnID}, nil
}

func (a *agent) say(threadID, turnID, role, text string) {
	kind := map[string]string{"user": "userMessage", "assistant": "agentMessage"}[role]
	a.notify(threadID, turnID, "item/completed", runtime.ItemChanged{TurnID: turnID, Done: true,
		Item: runtime.Item{ID: role + " in " + turnID, Role: role, Type: kind, Content: text}})
}

func (a *agent) end(threadID, turnID string, status runtime.TurnStatus) {
	a.mu.Lock()
	if found, err := a.find(threadID); err == nil {
		for i := range found.turns {
			if found.turns[i].ID == turnID {
				found.turns[i].Status = status
			}
		}
	}
	a.mu.Unlock()
	if status == runtime.TurnDone {
		a.say(threadID, turnID, "assistant", "hello")
	}
	a.notify(threadID, turnID, "turn/completed", runtime.TurnCompleted{TurnID: turnID, Status: status})
}

// running requires a.mu.
func (a *agent) running(threadID, turnID string) error {
	found, err := a.find(threadID)
	if err != nil {
		return err
	}
	for _, turn := range found.turns {
		if turn.ID == turnID && turn.Status == runtime.TurnInProgress {
			return nil
		}
	}
	return runtime.ErrNoActiveTurn
}

func (a *agent) SteerTurn(_ context.Context, threadID, turnID string, input []json.RawMessage) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.steered = append(a.steered, string(input[0]))
	return a.running(threadID, turnID)
}

func (a *agent) InterruptTurn(_ context.Context, threadID, turnID string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.running(threadID, turnID); err != nil {
		return err
	}
	a.ending.Go(func() { a.end(threadID, turnID, runtime.TurnInterrupted) })
	return nil
}

func (a *agent) CheckReply(_ runtime.RequestRef, reply runtime.Reply) error {
	if strings.Contains(reply.Scope, "ever") {
		return &runtime.ReplyError{Field: "scope", Message: "not for ever"}
	}
	return nil
}

func (a *agent) Answer(_ context.Context, ref runtime.RequestRef, reply runtime.Reply) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	turnID := a.asked[string(ref.RequestID)]
	a.replies = append(a.replies, reply)
	a.ending.Go(func() { a.end(ref.ThreadID, turnID, runtime.TurnDone) })
	return nil
}

func (a *agent) LastTurns(_ context.Context, threadID string, limit int) ([]runtime.Turn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := a.find(threadID)
	if err != nil {
		return nil, err
	}
	last := slices.Clone(found.turns)
	slices.Reverse(last)
	return last[:min(limit, len(last))], nil
}

func (a *agent) RollBack(_ context.Context, threadID string, numTurns int, last []runtime.Turn) (
	runtime.RolledBack, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := a.find(threadID)
	if err != nil {
		return runtime.RolledBack{}, err
	}
	if len(last) < numTurns {
		return runtime.RolledBack{}, &runtime.TooFewTurnsError{Have: len(last)}
	}
	done := runtime.RolledBack{Result: json.RawMessage(`{}`)}
	for _, turn := range last[:numTurns] {
		done.Turns = append(done.Turns, turn.ID)
	}
	found.turns = found.turns[:len(found.turns)-numTurns]
	return done, nil
}

func (a *agent) ForkThread(_ context.Context, threadID string) (runtime.Thread, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := a.find(threadID)
	if err != nil {
		return runtime.Thread{}, err
	}
	return a.add(found.turns), nil
}

func (a *agent) done(threadID string) (json.RawMessage, error) {
	_, err := a.about(threadID)
	return json.RawMessage(`{"done":true}`), err
}

func (a *agent) CompactThread(_ context.Context, threadID string) (json.RawMessage, error) {
	return a.done(threadID)
}

func (a *agent) CleanTerminals(_ context.Context, threadID string) (json.RawMessage, error) {
	return a.done(threadID)
}

func (a *agent) ReviewThread(_ context.Context, threadID string, review runtime.Review) (json.RawMessage, error) {
	a.mu.Lock()
	a.reviews = append(a.reviews, review)
	a.mu.Unlock()
	return a.done(threadID)
}
