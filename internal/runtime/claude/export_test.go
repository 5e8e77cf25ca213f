package claude

import (
	"context"

	"harness/internal/runtime/stdio"
)

// Probe sends the health probe of the supervisor to the process of a conversation.
func (r *Runtime) Probe(ctx context.Context, thread string) error {
	p := r.known(thread).process()
	line, done, err := p.Use(ctx)
	if err != nil {
		return err
	}
	defer done()
	method, params := line.Protocol().(stdio.Prober).Probe()
	_, err = line.Call(ctx, r.setup.Supervise.CallTimeout, method, params)
	return err
}
