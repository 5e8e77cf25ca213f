package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// StartThread implements runtime.Threads. It starts the process at once, to detect unsupported levels at once.
func (r *Runtime) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	if len(in.DynamicTools) > 0 && string(in.DynamicTools) != "null" {
		return runtime.Thread{}, &runtime.UnsupportedError{Runtime: Name, Operation: runtime.OpTools}
	}
	wanted := controls{Cwd: in.Cwd, Model: in.Model, Approval: in.ApprovalPolicy, Sandbox: in.Sandbox,
		Network: in.NetworkAccess}.strict()
	if _, err := r.findProgram(); err != nil {
		return runtime.Thread{}, runtime.WithKind(runtime.ErrUnavailable, err)
	}
	if err := r.check(wanted); err != nil {
		return runtime.Thread{}, err
	}
	t := r.conversation(cmp.Or(in.SessionID, uuid.NewString()), "")
	t.mu.Lock()
	t.controls, t.nativeToolsOff = wanted, in.NativeToolsOff
	t.mu.Unlock()
	_, release, err := r.set.Use(ctx, t.thread)
	if err != nil {
		if r.setup.ForgetHome != nil { // the conversation will never be stored
			err = errors.Join(err, r.setup.ForgetHome(t.thread))
		}
		return runtime.Thread{}, err
	}
	release()
	return t.described(), nil
}

// ResumeThread implements runtime.Threads. It loads nothing: the next message sets the controls. It returns
// runtime.ErrThreadNotFound without a history or a process.
func (r *Runtime) ResumeThread(_ context.Context, in runtime.ResumeThread) (runtime.Thread, error) {
	t := r.conversation(in.ThreadID, in.NativeID)
	if t.process() == nil {
		if err := r.remembered(t); err != nil {
			return runtime.Thread{}, err
		}
	}
	return t.described(), nil
}

// remembered returns runtime.ErrThreadNotFound when a conversation has no history.
func (r *Runtime) remembered(t *conversation) error {
	about := t.described()
	dir, err := r.stateOf(about.ID)
	if err != nil {
		return err
	}
	found, err := written(dir, about.Native())
	if err == nil && !found {
		err = fmt.Errorf("%w: Claude Code has no history of session %s", runtime.ErrThreadNotFound, about.ID)
	}
	return err
}

// CloseThread implements runtime.Threads.
func (r *Runtime) CloseThread(ctx context.Context, threadID string) error {
	return r.set.Close(ctx, threadID)
}

// StartTurn implements runtime.Threads. A message to a busy conversation joins the running turn after its next tool,
// or becomes the next turn. Changed controls apply from the next turn on: the process restarts with them.
func (r *Runtime) StartTurn(ctx context.Context, in runtime.StartTurn) (runtime.StartedTurn, error) {
	content, err := messageContent(in.Input)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	t := r.conversation(in.ThreadID, in.NativeID)
	select {
	case t.sending <- struct{}{}:
		defer func() { <-t.sending }()
	case <-ctx.Done():
		return runtime.StartedTurn{}, fmt.Errorf("%w: other messages to session %s are on their way: %w", runtime.ErrTimeout,
			in.ThreadID, ctx.Err())
	}
	if p := t.process(); p != nil && p.busy() != "" {
		if in.Alone {
			return runtime.StartedTurn{}, runtime.ErrTurnActive
		}
		return r.sendMessage(ctx, p, content)
	}
	// A process is released shortly after its end is published. The next one has only the data on disk.
	if p := t.process(); in.Continues && in.History == "" && (p == nil || p.Status().PID == 0) {
		if err := r.remembered(t); err != nil {
			return runtime.StartedTurn{}, err
		}
	}
	p, release, err := r.prepare(ctx, t, in)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	defer release()
	r.keep(t)
	var said any = content
	if in.History != "" {
		said = replayed(append([]any{textContent{"text", in.History}}, content...))
	}
	started, err := r.sendMessage(ctx, p, said)
	if err != nil && p.busy() == "" {
		t.unhold()
	}
	return started, err
}

// prepare returns the conversation's process with the controls of a message, in use.
func (r *Runtime) prepare(ctx context.Context, t *conversation, in runtime.StartTurn) (*process, func(), error) {
	t.mu.Lock()
	was, live := t.controls, t.live
	t.mu.Unlock()
	wanted, err := was.with(in)
	if err != nil {
		return nil, nil, err
	}
	if wanted != was || live == nil {
		if err := r.check(wanted); err != nil {
			return nil, nil, err
		}
		if err := r.set.Close(ctx, t.thread); err != nil {
			return nil, nil, err
		}
		t.mu.Lock()
		t.controls = wanted
		t.mu.Unlock()
	}
	p, release, err := r.set.Use(ctx, t.thread)
	if err != nil {
		t.mu.Lock()
		t.controls = was
		t.mu.Unlock()
	}
	return p, release, err
}

// sendMessage sends a message and returns its turn.
func (r *Runtime) sendMessage(ctx context.Context, p *process, content any) (runtime.StartedTurn, error) {
	line, done, err := p.Use(ctx)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	defer done()
	result, err := line.Call(ctx, r.setup.Supervise.CallTimeout, callMessage, content)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	var became begun
	if err := json.Unmarshal(result, &became); err != nil {
		return runtime.StartedTurn{}, fmt.Errorf("read what became of a message: %w", err)
	}
	return runtime.StartedTurn{TurnID: became.Turn, Steered: became.Steered}, nil
}

// SteerTurn implements runtime.Steerer.
func (r *Runtime) SteerTurn(ctx context.Context, threadID, turnID string, input []json.RawMessage) error {
	content, err := messageContent(input)
	if err != nil {
		return err
	}
	p, err := r.running(threadID, turnID)
	if err != nil {
		return err
	}
	_, err = r.sendMessage(ctx, p, content)
	return err
}

// running returns the process of a running turn.
func (r *Runtime) running(threadID, turnID string) (*process, error) {
	t := r.known(threadID)
	if t == nil {
		return nil, runtime.ErrNoActiveTurn
	}
	p := t.process()
	if p == nil {
		return nil, runtime.ErrNoActiveTurn
	}
	switch busy := p.busy(); busy {
	case "":
		return nil, runtime.ErrNoActiveTurn
	case turnID:
		return p, nil
	default:
		return nil, fmt.Errorf("%w: %s", runtime.ErrOtherTurn, busy)
	}
}

// InterruptTurn implements runtime.Threads.
func (r *Runtime) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	p, err := r.running(threadID, turnID)
	if err != nil {
		return err
	}
	line, done, err := p.Use(ctx)
	if err != nil {
		return err
	}
	defer done()
	// Wait until the agent has started a queued message: an interrupt before that would have no effect.
	for {
		m := p.spoken.Load().now()
		if m.busy != turnID {
			return runtime.ErrNoActiveTurn
		}
		if m.turn != "" {
			break
		}
		select {
		case <-m.changed:
		case <-line.Gone():
			return runtime.ErrNoActiveTurn
		case <-ctx.Done():
			return fmt.Errorf("%w: the turn has not begun: %w", runtime.ErrTimeout, ctx.Err())
		}
	}
	result, err := line.Call(ctx, r.setup.Supervise.CallTimeout, callInterrupt, cancelQueued{})
	if err != nil {
		return err
	}
	if err := cancelLeft(ctx, line, r.setup.Supervise.CallTimeout, result); err != nil {
		return err
	}
	// A request of background work no longer belongs to the agent's turn. A refusal ends it.
	if m := p.spoken.Load().now(); m.over && m.turn == turnID {
		for _, id := range m.asked {
			if err := refuse(ctx, line, id); err != nil && !errors.Is(err, runtime.ErrRequestGone) {
				return err
			}
		}
	}
	return nil
}

// cancelLeft cancels the messages that an interrupt left in the agent's queue. Earlier versions of Claude Code leave
// them and would start a turn with each.
func cancelLeft(ctx context.Context, line *stdio.Conn, limit time.Duration, interrupted json.RawMessage) error {
	var left struct {
		Queued []string `json:"still_queued"`
	}
	_ = json.Unmarshal(interrupted, &left) // a version without this list has none to cancel
	for _, message := range left.Queued {
		if _, err := line.Call(ctx, limit, callCancel, queuedMessage(message)); err != nil {
			return fmt.Errorf("cancel a queued message: %w", err)
		}
	}
	return nil
}

// EndProcess implements runtime.Ender.
func (r *Runtime) EndProcess(ctx context.Context, threadID, reason string) error {
	t := r.known(threadID)
	if t == nil {
		return nil
	}
	p := t.process()
	if p == nil {
		return nil
	}
	if err := p.End(ctx, reason); err != nil {
		return err
	}
	select {
	case <-p.Done(): // and its end is published
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the end of the process is not published yet: %w", runtime.ErrTimeout, ctx.Err())
	}
}
