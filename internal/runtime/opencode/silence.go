package opencode

import (
	"context"
	"slices"
	"time"

	"harness/internal/runtime/opencode/bridge"
	"harness/internal/runtime/stdio"
)

// attend watches a running OpenCode and ends turns without output.
func (o *OpenCode) attend(ctx context.Context, conn *stdio.Conn, _ int) error {
	p, _ := conn.Protocol().(*protocol)
	l := &line{protocol: p, limit: o.options.Supervise.CallTimeout}
	return o.options.TurnWatchdog.Attend(ctx, stdio.Watched{Name: Name, Title: "OpenCode", Log: o.options.Launch.Logger,
		Turns: p.watched, Stalled: conn.Stalled,
		Stop: func(ctx context.Context, turn string) error {
			native := p.hush(turn, o.options.TurnWatchdog)
			return l.command(ctx, "interrupt", native,
				call{Command: bridge.Command{Turn: turn, Steps: abort(native, o.names.of(native).folder)}}, nil)
		}})
}

// watched returns the turns that wait for the model. During an approval or a command, which has a separate limit, the
// agent counts as responsive.
func (p *protocol) watched() (turns []stdio.Turn) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, in := range p.state.Conversations {
		if in.lastOutput.IsZero() || len(in.Asked) > 0 ||
			slices.ContainsFunc(in.Open, func(one item) bool { return one.Begun && one.Tool == toolShell }) {
			in.lastOutput = now
		}
		turns = append(turns, stdio.Turn{ID: in.Turn, LastOutput: in.lastOutput, Stopped: in.Unresponsive != ""})
	}
	return turns
}

// hush stores why an unresponsive turn must end, and returns its conversation.
func (p *protocol) hush(turn string, silence stdio.TurnWatchdog) (native string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, in := range p.state.Conversations {
		if in.Turn == turn {
			in.Unresponsive, native = silence.Reason(), id
		}
	}
	return native
}
