package resources

import (
	"context"
	"runtime/debug"
	"time"

	"harness/internal/lib/lifecycle"
)

const (
	burstSize  = 256                    // connections whose handshakes leave enough behind to be worth a collection
	burstQuiet = 500 * time.Millisecond // after the last of them, and the last event
)

// MemoryTrimmer gives memory back to the system when many stream connections came and are quiet. Their handshakes leave about
// as much garbage as the connections keep, and on a server that does nothing but hold them the next collection may be
// minutes away: 1,000 idle connections took 30, 35 and 38 KiB each without this, 8, 4 and 5 with it, in turns on a busy
// machine; they may take 18. A server that hands out events waits: it collects by itself, and needs its processors.
type MemoryTrimmer struct {
	came chan struct{} // each connection, as long as there is room
	free func()        // debug.FreeOSMemory
	head func() int64  // the position of the last event

	loop lifecycle.Loops
}

// NewMemoryTrimmer makes a trimmer; head returns the journal's last position, which shows whether the server is idle.
func NewMemoryTrimmer(head func() int64) *MemoryTrimmer {
	return &MemoryTrimmer{came: make(chan struct{}, burstSize), free: debug.FreeOSMemory, head: head}
}

// Joined counts a new connection. It never waits.
func (c *MemoryTrimmer) Joined() {
	select {
	case c.came <- struct{}{}:
	default: // so many are uncounted that one more makes no difference
	}
}

// Start begins to wait for bursts of connections.
func (c *MemoryTrimmer) Start(ctx context.Context) error {
	return c.loop.Start(ctx, func(context.Context) error {
		c.loop.Go(c.run)
		return nil
	})
}

// Stop ends it.
func (c *MemoryTrimmer) Stop(ctx context.Context) error {
	_, err := c.loop.Stop(ctx, "the memory trimmer")
	return err
}

func (c *MemoryTrimmer) run(ctx context.Context) {
	quiet := time.NewTimer(burstQuiet)
	quiet.Stop()
	seen := c.head()
	for size := 0; ; {
		select {
		case <-ctx.Done():
			quiet.Stop()
			return
		case <-c.came:
			if size++; size >= burstSize {
				seen = c.head()
				quiet.Reset(burstQuiet)
			}
		case <-quiet.C:
			if head := c.head(); head != seen {
				seen = head
				quiet.Reset(burstQuiet)
				continue
			}
			size = 0
			c.free()
		}
	}
}
