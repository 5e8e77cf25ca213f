package door

import (
	"context"

	"harness/stream"
)

// Core is the part that the servers of all doors have. Start it before it serves.
type Core[Event any] struct {
	*Desk
	Follows *Follows[Event]
	feed    SilentFeed
}

// NewCore creates a Core.
func NewCore[Event any](desk *Desk, follows *Follows[Event]) Core[Event] {
	return Core[Event]{Desk: desk, Follows: follows}
}

// Start begins to pass on events.
func (c *Core[Event]) Start(ctx context.Context) error { return c.Follows.Start(ctx) }

// Stop accepts no more messages and waits, within ctx, for messages in progress. The stream closes the sockets.
func (c *Core[Event]) Stop(ctx context.Context) error {
	if err := c.Follows.Stop(ctx); err != nil {
		return err
	}
	return c.Desk.Stop(ctx)
}

// Feed implements stream.Protocol.
func (c *Core[Event]) Feed() stream.Feed { return &c.feed }
