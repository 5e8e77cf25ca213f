package acp

import (
	"context"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
	"harness/internal/runtime/wire"
)

// attend watches a running process. It ends turns without a message and turns of an unresponsive agent. It also ends
// a process that one with a new key must replace.
func (r *Runtime) attend(ctx context.Context, conn *stdio.Conn, _ int) error {
	p := protocolOf(conn)
	p.endUnsent()
	return r.untilRenewed(ctx, p, func(ctx context.Context) error {
		return r.silence.Attend(ctx, stdio.Watched{Name: r.profile.Name, Title: r.profile.title(), Log: r.log,
			Turns: p.watched, Stalled: conn.Stalled,
			Stop: func(ctx context.Context, turn string) error {
				p.mu.Lock()
				if _, of := p.translator.state.turn(turn); of != nil {
					of.Unresponsive, p.translator.unsaid = r.silence.Reason(), true
				}
				p.mu.Unlock()
				return p.stop(ctx, turn)
			}})
	})
}

// watched returns the turns that wait for the agent.
func (p *protocol) watched() (turns []stdio.Turn) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.translator.state.Conversations {
		if p.AsksIn(of.Thread) {
			p.lastOutput[of.Turn] = now
		}
		turns = append(turns, stdio.Turn{ID: of.Turn, LastOutput: p.lastOutput[of.Turn], Stopped: of.Unresponsive != ""})
	}
	return turns
}

// endUnsent ends the turns of an earlier server with a message that never reached the process.
func (p *protocol) endUnsent() {
	p.mu.Lock()
	unsent := p.unsent
	p.unsent = nil
	for _, running := range unsent {
		if native, of := p.translator.state.turn(running.TurnID); of != nil {
			delete(p.translator.state.Conversations, native)
		}
	}
	p.mu.Unlock()
	for _, running := range unsent {
		_, _ = p.Emit(nil, wire.TurnCompleted(running.ThreadID, wire.Turn{ID: running.TurnID, Status: runtime.TurnInterrupted,
			CompletedAt: time.Now().UnixMilli(),
			// for a process that is gone, its end has the same reason
			Error: &wire.Failure{Message: "the server was restarted before the message reached the agent; send it again"}}))
	}
}
