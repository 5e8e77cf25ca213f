package codex

import (
	"context"
	"fmt"
	"time"

	"harness/runtime"
)

// use waits for a process that is starting and returns the way to it. Until done is called the process is not recycled, and the conversation
// ("" for none) stays loaded if it is.
func (c *Codex) use(ctx context.Context, thread string) (conn *conn, v version, done func(), err error) {
	limit := time.NewTimer(c.options.StartTimeout)
	defer limit.Stop()
	for {
		c.mu.Lock()
		status, changed := c.status, c.changed
		ready := status.State == runtime.StateReady && c.conn != nil
		if ready {
			conn, v = c.conn, c.version
			c.useLocked()
		}
		c.mu.Unlock()
		if ready {
			if err := conn.turns.enter(ctx, thread); err != nil {
				c.unuse()
				return nil, version{}, nil, fmt.Errorf("%w: session %s is being unloaded: %w", runtime.ErrUnavailable, thread, err)
			}
			return conn, v, func() { conn.turns.leave(thread); c.unuse() }, nil
		}
		switch status.State {
		case runtime.StateReady, runtime.StateStarting, runtime.StateUnresponsive:
		default:
			return nil, version{}, nil, fmt.Errorf("%w: %s", runtime.ErrUnavailable, status.Reason)
		}
		select {
		case <-changed:
		case <-limit.C:
			return nil, version{}, nil, fmt.Errorf("%w: %s", runtime.ErrUnavailable, status.Reason)
		case <-ctx.Done():
			return nil, version{}, nil, fmt.Errorf("%w: %s: %w", runtime.ErrUnavailable, status.Reason, ctx.Err())
		}
	}
}

// useLocked counts a user of the process in. c.mu is held.
func (c *Codex) useLocked() {
	c.users++
	c.uses++
}

func (c *Codex) unuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users--
	c.used = time.Now()
}
