package main

import (
	"context"
	"runtime/debug"
	"time"

	"harness/internal/lib/lifecycle"
)

const (
	crowdSize  = 256                    // connections whose handshakes leave enough behind to be worth a collection
	crowdQuiet = 500 * time.Millisecond // after the last of them, and the last event
)

// crowd gives memory back to the system when many stream connections came and are quiet. Their handshakes leave about
// as much garbage as the connections keep, and on a server that does nothing but hold them the next collection may be
// minutes away: 1,000 idle connections took 30, 35 and 38 KiB each without this, 8, 4 and 5 with it, in turns on a busy
// machine; they may take 18. A server that hands out events waits: it collects by itself, and needs its processors.
type crowd struct {
	came chan struct{} // each connection, as long as there is room
	free func()        // debug.FreeOSMemory
	head func() int64  // the position of the last event

	loop lifecycle.Loops
}

func newCrowd(head func() int64) *crowd {
	return &crowd{came: make(chan struct{}, crowdSize), free: debug.FreeOSMemory, head: head}
}

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
	seen := c.head()
	for size := 0; ; {
		select {
		case <-ctx.Done():
			quiet.Stop()
			return
		case <-c.came:
			if size++; size >= crowdSize {
				seen = c.head()
				quiet.Reset(crowdQuiet)
			}
		case <-quiet.C:
			if head := c.head(); head != seen {
				seen = head
				quiet.Reset(crowdQuiet)
				continue
			}
			size = 0
			c.free()
		}
	}
}
