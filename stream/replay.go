package stream

import (
	"context"

	"harness/internal/platform/journal"
)

// Pages adapt to the size of records: a page of large records is followed by a shorter page.
const largePage = 1 << 20

// aim is the range of the next page.
type aim struct {
	epoch    uint64
	cursor   int64
	limit    int64 // journal position to read up to
	head     int64 // the last published journal position
	audience audience
}

// replay advances a client that is not live by one step: it reads the next page, or makes a client live that has caught
// up. It reports whether there is more to do now.
func (c *client) replay(work *page) bool {
	target, caughtUp := c.aim()
	if caughtUp {
		return true
	}
	records, oldest, err := c.read(target)
	if err != nil {
		if c.ctx.Err() == nil {
			c.hub.opts.Logger.Error().Err(err).Msg("a stream client cannot catch up")
			c.end(closeInternal, "journal unavailable")
		}
		return false
	}
	limit := c.pageLimit()
	reached := len(records) < limit
	bytes := 0
	for i := range records {
		bytes += len(records[i].Payload)
		if records[i].Pos > target.limit {
			// Committed after the aim was chosen: it is in the ring or on the next page.
			records, reached = records[:i], true
			break
		}
	}
	next := endOf(target.limit)
	if !reached {
		next = endOf(records[len(records)-1].Pos)
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != target.epoch {
		return true
	}
	var gap *Message
	if lost(target.cursor, oldest) {
		if !c.positions {
			// A client without positions cannot find out what it missed.
			c.hub.opts.Metrics.SlowConsumer("pruned")
			c.endLocked(closeSlow, slowReason)
			return false
		}
		c.hub.opts.Metrics.Gap("pruned")
		gap = target.audience.notice(notice("gap", target.cursor, endOf(target.limit), oldest))
	}
	c.adaptPage(bytes)
	c.cursor, c.short = max(c.cursor, next), reached
	*work = page{records: records, audience: target.audience, after: target.cursor, head: target.head,
		epoch: target.epoch, gap: gap}
	return true
}

// aim chooses the next page, and makes the client live when nothing is left to read.
func (c *client) aim() (target aim, caughtUp bool) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trimPast()
	if c.mode == behind && c.short && len(c.past) == 0 {
		// Stop one page before the head. Later events stay in the ring, so that a busy journal cannot keep the client
		// behind forever.
		c.mode, c.joinAt, c.at = joining, h.head, c.view.head()
	}
	target = aim{epoch: c.epoch, cursor: c.cursor, limit: h.head, head: h.head, audience: c.audience}
	if c.mode == joining {
		target.limit = c.joinAt
	}
	if len(c.past) > 0 {
		target.limit, target.audience = min(target.limit, c.past[0].until), c.past[0].audience
	}
	if c.cursor < endOf(target.limit) {
		return target, false
	}
	// Nothing is due up to the head (behind) or up to the client's position in the ring (joining).
	if c.mode == behind {
		c.at = c.view.head()
	}
	c.mode = live
	return aim{}, true
}

func (c *client) read(target aim) ([]journal.Record, int64, error) {
	h := c.hub
	select {
	case h.reads <- struct{}{}:
		defer func() { <-h.reads }()
	case <-c.ctx.Done():
		return nil, 0, context.Cause(c.ctx)
	}
	after := eventOf(target.cursor)
	if midEvent(target.cursor) {
		after--
	}
	records, err := h.journal.Read(c.ctx, journal.Query{After: after, Session: target.audience.session(),
		Limit: c.pageLimit()})
	if err != nil {
		return nil, 0, err
	}
	// Read the bounds after the page, so that they include pruning during the read.
	oldest, _, err := h.journal.Bounds(c.ctx)
	return records, oldest, err
}

func (c *client) pageLimit() int { return max(1, c.hub.opts.CatchUpPage>>c.shrink) }

func (c *client) adaptPage(bytes int) {
	switch {
	case bytes > largePage && c.hub.opts.CatchUpPage>>c.shrink > 1:
		c.shrink++
	case bytes < largePage/4 && c.shrink > 0:
		c.shrink--
	}
}
