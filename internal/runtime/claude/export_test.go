package claude

import (
	"context"

	"harness/internal/runtime/stdio"
)

// Probe asks the process of a conversation what the watch over it asks.
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
