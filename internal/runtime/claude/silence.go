package claude

import (
	"context"
	"slices"
	"time"

	"harness/internal/runtime/stdio"
)

// attendTo watches a running process until it should close. It ends turns without output of Claude Code.
func (r *Runtime) attendTo(ctx context.Context, p *process, line *stdio.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	unresponsive := make(chan error, 1)
	go func() {
		spoken := p.spoken.Load()
		unresponsive <- r.setup.TurnWatchdog.Attend(ctx, stdio.Watched{Name: Name, Title: "Claude Code", Log: r.setup.Launch.Logger,
			Turns: spoken.watched, Stalled: line.Stalled, Stop: func(ctx context.Context, _ string) error {
				return spoken.hush(ctx, line, r.setup.TurnWatchdog)
			}})
	}()
	select {
	case <-p.retire:
		cancel()
		<-unresponsive //nolint:errcheck // it was asked to end
		return &stdio.RetiredError{Exit: "it was not used", Message: "it is resumed on demand"}
	case err := <-unresponsive:
		return err
	}
}

// watched returns the turn that waits for the model. During an approval or a command, which has a separate limit, the
// agent counts as responsive.
func (p *protocol) watched() []stdio.Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	busy := p.state.busy()
	if busy == "" {
		return nil
	}
	if len(p.state.Asked) > 0 ||
		slices.ContainsFunc(p.state.Tools, func(call toolCall) bool { return call.Name == toolShell }) {
		p.lastOutput = time.Now()
	}
	return []stdio.Turn{{ID: busy, LastOutput: p.lastOutput, Stopped: p.state.Silent != ""}}
}

// hush ends an unresponsive turn with the reason.
func (p *protocol) hush(ctx context.Context, line *stdio.Conn, silence stdio.TurnWatchdog) error {
	p.mu.Lock()
	p.state.Silent = silence.Reason()
	p.mu.Unlock()
	_, err := line.Call(ctx, time.Duration(silence), callInterrupt, nil)
	return err
}
