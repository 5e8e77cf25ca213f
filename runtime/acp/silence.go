package acp

import (
	"context"
	"fmt"
	"time"

	"harness/runtime"
	"harness/runtime/stdio"
	"harness/runtime/wire"
)

// graceMax bounds how long an agent that was silent has to end a turn it was told to.
const graceMax = 30 * time.Second

// looks is how often turns are looked at while an agent may be silent.
const looks = 8

// attend looks after a process while it is up: it ends turns nobody sent a message of, and those an agent says nothing in.
func (r *Runtime) attend(ctx context.Context, conn *stdio.Conn, _ int) error {
	p := protocolOf(conn)
	p.endUnsent()
	if r.silence <= 0 {
		<-ctx.Done()
		return nil
	}
	ticker := time.NewTicker(max(r.silence/looks, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			silent, hung := p.silent(now, r.silence)
			if hung != "" {
				return &stdio.RetiredError{Exit: fmt.Sprintf("it said nothing for %s in a turn and did not end it when it was told to (HARNESS_TURN_IDLE_TIMEOUT_MS)", r.silence),
					Message: r.profile.title() + " was silent and is being restarted; send the message again"}
			}
			for _, turn := range silent {
				r.log.Warn().Str("turn", turn).Dur("for", r.silence).Msg(r.profile.Name + " says nothing; ending the turn")
				if err := p.stop(ctx, turn); err != nil {
					r.log.Warn().Err(err).Str("turn", turn).Msg("a silent turn could not be stopped")
				}
			}
		}
	}
}

// silent are the turns in which nothing was said for so long, and a turn that goes on though it was stopped because of that, "" for none. Where a
// person is asked, nobody is silent.
func (p *protocol) silent(now time.Time, limit time.Duration) (turns []string, hung string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, of := range p.translator.state.Talks {
		since := now.Sub(p.heard[of.Turn])
		switch {
		case p.AsksIn(of.Thread):
			p.heard[of.Turn] = now
		case of.Silent != "" && since >= limit+min(limit, graceMax):
			return nil, of.Turn
		case of.Silent == "" && since >= limit:
			of.Silent = limit.String()
			turns = append(turns, of.Turn)
		}
	}
	return turns, ""
}

// endUnsent ends the turns of a server before this one whose message never reached the process.
func (p *protocol) endUnsent() {
	p.mu.Lock()
	unsent := p.unsent
	p.unsent = nil
	for _, running := range unsent {
		if native, of := p.translator.state.turn(running.TurnID); of != nil {
			delete(p.translator.state.Talks, native)
		}
	}
	p.mu.Unlock()
	for _, running := range unsent {
		_, _ = p.Tell(wire.TurnCompleted(running.ThreadID, wire.Turn{ID: running.TurnID, Status: runtime.TurnInterrupted, CompletedAt: time.Now().UnixMilli(),
			Error: &wire.Failure{Message: "the server was restarted before the message reached the agent; send it again"}})) // of a process that is gone the end says as much
	}
}
