package main

import (
	"context"
	"runtime/debug"
	"time"

	"harness/internal/lifecycle"
)

const (
	crowdSize  = 256                    // connections whose handshakes leave enough behind to be worth a collection
	crowdQuiet = 500 * time.Millisecond // after the last of them
)

// crowd gives memory back to the system when many stream connections came and are quiet. Their handshakes leave about
// as much garbage as the connections keep, and on a server that does nothing but hold them the next collection may be
// minutes away.
type crowd struct {
	came chan struct{} // each connection, as long as there is room
	free func()        // debug.FreeOSMemory

	loop lifecycle.Loops
}

func newCrowd() *crowd { return &crowd{came: make(chan struct{}, crowdSize), free: debug.FreeOSMemory} }

// joined is told each new connection. It never waits.
func (c *crowd) joined() {
	select {
	case c.came <- struct{}{}:
	default: // so many wait to be counted that one more makes no difference
	}
}

func (c *crowd) start(ctx context.Context) error {
	return c.loop.Start(ctx, func(context.Context) error {
		c.loop.Go(c.run)
		return nil
	})
}

func (c *crowd) stop(ctx context.Context) error {
	_, err := c.loop.Stop(ctx, "the wait for crowds")
	return err
}

func (c *crowd) run(ctx context.Context) {
	quiet := time.NewTimer(crowdQuiet)
	quiet.Stop()
	for size := 0; ; {
		select {
		case <-ctx.Done():
			quiet.Stop()
			return
		case <-c.came:
			if size++; size >= crowdSize {
				quiet.Reset(crowdQuiet)
			}
		case <-quiet.C:
			size = 0
			c.free()
		}
	}
}
