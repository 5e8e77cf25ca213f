package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
)

// alivePatience is how long a message waits for a response of its process.
const alivePatience = 2 * time.Second

// StartTurn implements runtime.Threads. It refuses a message to a busy conversation with runtime.ErrTurnActive:
// agents handle a second one differently, and one of them cancels the running turn.
func (r *Runtime) StartTurn(ctx context.Context, in runtime.StartTurn) (runtime.StartedTurn, error) {
	if err := r.Capabilities().CheckControls(r.profile.Name, in.ApprovalPolicy, in.Sandbox, in.NetworkAccess); err != nil {
		return runtime.StartedTurn{}, err
	}
	if err := r.requireNoNativeTools(ctx, in.ThreadID); err != nil {
		return runtime.StartedTurn{}, err
	}
	prompt, err := promptOf(in.Input)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	if in.Aside != "" {
		// After the message: a command of the agent must come first.
		prompt = append(prompt, map[string]string{"type": "text", "text": in.Aside})
	}
	conn, done, err := r.process.Use(ctx)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	defer done()
	p := protocolOf(conn)
	native, cwd := r.remember(in.ThreadID, in.NativeID, in.Cwd)
	var anew string
	if in.History != "" {
		if anew, err = r.open(ctx, conn, in.ThreadID, cwd); err != nil {
			return runtime.StartedTurn{}, err
		}
		native, _ = r.remember(in.ThreadID, anew, "")
		prompt = append([]any{map[string]string{"type": "text", "text": in.History}}, prompt...)
	}
	release, err := p.reserve(native)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	defer release()
	if anew == "" {
		if err := r.load(ctx, conn, in.ThreadID, native, cwd); err != nil {
			return runtime.StartedTurn{}, err
		}
	}
	if err := r.set(ctx, conn, in.ThreadID, native, in.ApprovalPolicy, in.Model); err != nil {
		return runtime.StartedTurn{}, err
	}
	if err := p.requireAlive(ctx); err != nil {
		return runtime.StartedTurn{}, err
	}
	turn, err := r.prompt(ctx, p, conversation{Thread: in.ThreadID, Cwd: cwd, AutoApproved: r.autoApproved(p, native),
		Clears: r.profile.clears(in.Input)}, native, in.Input, prompt)
	if err != nil {
		return runtime.StartedTurn{}, err
	}
	return runtime.StartedTurn{TurnID: turn, NativeID: anew}, nil
}

// prompt publishes a turn of a conversation and then sends its message.
func (r *Runtime) prompt(ctx context.Context, p *protocol, of conversation, native string, input []json.RawMessage,
	blocks []any) (turn string, err error) {
	turn = ids.New()
	line, err := written(message{Version: "2.0", ID: turnPrefix + turn, Method: words.Prompt,
		Params: map[string]any{"sessionId": native, "prompt": blocks}})
	if err != nil {
		return "", fmt.Errorf("encode the message: %w", err)
	}
	r.mu.Lock()
	r.began[of.Thread] = time.Now()
	r.mu.Unlock()
	// From here on it is a turn, even if the caller cancels. If its process is gone, the turn is published as
	// interrupted.
	ctx, of.Turn = context.WithoutCancel(ctx), turn
	stored, err := p.begin(native, of, userItem{Type: wire.ItemUserMessage, ID: turn + ":user", Content: input})
	if err != nil {
		return "", err
	}
	select {
	case <-stored: // the next server must have the turn if the agent does
	case <-p.Gone():
		return turn, nil
	}
	if err := p.SendOpen(ctx, label{Turn: turn, Native: native, Cwd: of.Cwd}.encode(), line); err != nil {
		r.log.Warn().Err(err).Str("turn", turn).Msg("a message did not reach " + r.profile.Name)
	}
	return turn, nil
}

// InterruptTurn implements runtime.Threads.
func (r *Runtime) InterruptTurn(ctx context.Context, threadID, turnID string) error {
	conn, done, err := r.process.Use(ctx)
	if err != nil {
		return runtime.WithKind(runtime.ErrNoActiveTurn, err)
	}
	defer done()
	return protocolOf(conn).stop(context.WithoutCancel(ctx), turnID)
}

// requireAlive makes a round trip to the process. It returns runtime.ErrProcessGone when the process has exited, even
// if unnoticed. A turn is published before its message is written, so a turn for a dead process could not move to the
// next one. A slow process counts as alive.
func (p *protocol) requireAlive(ctx context.Context) error {
	method, params := p.Probe()
	_, err := p.Call(ctx, alivePatience, method, params)
	if refused := (*runtime.Error)(nil); errors.As(err, &refused) || errors.Is(err, runtime.ErrTimeout) {
		return nil
	}
	return err
}

// reserve reserves a conversation for one message. It returns ErrTurnActive while another message has it, or a turn
// is running.
func (p *protocol) reserve(native string) (release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reserved[native] || p.translator.state.Conversations[native] != nil {
		return nil, runtime.ErrTurnActive
	}
	p.reserved[native] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.reserved, native)
	}, nil
}

// begin publishes a turn before its message is sent; stored is closed once the turn is durable.
func (p *protocol) begin(native string, of conversation, user userItem) (stored <-chan struct{}, err error) {
	now := time.Now()
	p.mu.Lock()
	of.Total = p.totals[of.Thread]
	signals := p.translator.begin(native, of, user, now.UnixMilli())
	p.lastOutput[of.Turn], p.labels[of.Turn] = now, label{Turn: of.Turn, Native: native, Cwd: of.Cwd}.encode()
	p.mu.Unlock()
	return p.Emit(beginning(of.Turn, native), signals...)
}

// turnStored records that the end of a turn is stored.
func (p *protocol) turnStored(turn string) {
	p.mu.Lock()
	open := p.labels[turn]
	delete(p.labels, turn)
	p.mu.Unlock()
	if open != "" {
		p.Settle(open)
	}
}

// closed records that the process has closed a conversation.
func (p *protocol) closed(native string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.translator.threads, native)
	delete(p.settings, native)
	p.Note(p.note(p.greeted()))
}

// EndProcess implements runtime.Ender. The process serves all conversations.
func (r *Runtime) EndProcess(ctx context.Context, _, reason string) error {
	return r.process.End(ctx, reason)
}
