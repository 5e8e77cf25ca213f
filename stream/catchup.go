package stream

import (
	"errors"

	"harness/internal/platform/journal"
)

// page is a range of the journal that a client is catching up on.
type page struct {
	records  []journal.Record
	audience audience
	after    int64 // the client does not want frames up to this cursor
	head     int64 // the last journal position at the time of the read
	epoch    uint64
	gap      *Message
	ready    []*shared // frames of the current record
}

func (p *page) pending() bool { return p.gap != nil || len(p.ready) > 0 || len(p.records) > 0 }

// catchUp writes the journal to a client that is not live, at the client's pace. It is the client's only writer until
// it returns the client to the shard.
func (c *client) catchUp() {
	var (
		work  page
		batch []*Message
	)
	for {
		var on bool
		if batch, on = c.next(batch[:0], &work); !on {
			c.release()
			return
		}
		if !c.writeAll(batch) {
			c.release()
			return
		}
		clear(batch)
	}
}

// writeAll writes a whole batch, within the stall limit.
func (c *client) writeAll(batch []*Message) bool {
	for len(batch) > 0 {
		sent, full, err := c.conn.Write(batch)
		c.count(batch[:sent])
		batch = batch[sent:]
		if err == nil && full {
			err = c.conn.Wait()
		}
		if err != nil {
			c.failed(err)
			return false
		}
	}
	return true
}

// next collects the next batch: answers, queued frames, the resume status, and frames of the current page. An empty
// batch asks for another round; on is false once the client has caught up.
func (c *client) next(batch []*Message, work *page) (out []*Message, on bool) {
	c.mu.Lock()
	if c.closing != nil {
		c.mu.Unlock()
		return batch, false
	}
	if work.epoch != c.epoch {
		*work = page{epoch: c.epoch}
	}
	positions := c.positions
	switch {
	case len(c.answers) > 0:
		batch = append(batch, c.takeAnswers()...)
	case len(c.queue) > 0:
		for _, frame := range c.queue[:min(len(c.queue), maxBatchFrames)] {
			batch = append(batch, frame.message(positions))
			c.queued -= frame.size()
		}
		c.queue = c.queue[len(batch):]
	case c.resumeStatus != nil:
		batch = append(batch, c.resumeStatus)
		c.resumeStatus = nil
	case work.pending():
		c.mu.Unlock()
		return c.fromPage(batch, work, positions), true
	case len(c.replies) > 0 && c.replies[0].pos <= c.cursor:
		batch = append(batch, c.takeReply().message(positions))
	case c.mode == live:
		c.mu.Unlock()
		return batch, false
	default:
		c.mu.Unlock()
		return batch, c.replay(work)
	}
	c.mu.Unlock()
	return batch, true
}

// fromPage derives the next frames of a page. A client without positions skips replaceable frames and gets a notice of
// the gap. A client with positions gets every frame.
func (c *client) fromPage(batch []*Message, work *page, positions bool) []*Message {
	if work.gap != nil {
		batch = append(batch, work.gap)
		work.gap = nil
	}
	bytes := 0
	for len(batch) < maxBatchFrames && bytes < maxBatchBytes {
		for len(work.ready) == 0 {
			if len(work.records) == 0 {
				return batch
			}
			work.ready = c.hub.derive(work.audience.channel, work.records[0])
			if c.reach != nil && len(work.ready) > 0 && !c.assign(work.ready, work.records[0]) {
				work.ready, work.records = nil, nil
				return batch
			}
			work.records = work.records[1:]
		}
		frame := work.ready[0]
		work.ready = work.ready[1:]
		if frame.Pos <= work.after || !work.audience.sees(&frame.Frame) {
			continue
		}
		if frame.Text != nil {
			c.mu.Lock()
			frame = c.textShare(frame)
			c.mu.Unlock()
			if frame == nil {
				continue
			}
		}
		if frame.Replaceable && !positions {
			c.hub.opts.Metrics.Skipped(1)
			if frame.Pos > c.gapEnd {
				c.gapEnd = endOf(work.head)
				c.hub.opts.Metrics.Gap("skipped")
				batch = append(batch, work.audience.notice(skipped(frame.Pos-1, c.gapEnd)))
			}
			continue
		}
		batch = append(batch, frame.message(positions))
		bytes += frame.size()
	}
	return batch
}

// count reports messages that were passed to the connection.
func (c *client) count(batch []*Message) {
	if len(batch) == 0 {
		return
	}
	if !c.met { // only the current writer runs this
		c.met = true
		close(c.greeted)
	}
	bytes := 0
	for _, message := range batch {
		bytes += len(message.wire)
	}
	c.hub.opts.Metrics.Sent(len(batch), bytes)
}

// failed ends a client whose connection cannot be written to.
func (c *client) failed(err error) {
	if errors.Is(err, ErrStalled) {
		c.hub.opts.Metrics.SlowConsumer("stalled")
		c.end(closeSlow, slowReason)
		return
	}
	c.end(0, "")
}

// leave closes the connection with its close reason. It runs once, when no other goroutine writes.
func (c *client) leave() {
	defer close(c.done)
	c.mu.Lock()
	closing := *c.closing
	c.mu.Unlock()
	if closing.code == 0 {
		c.conn.Abort()
		return
	}
	c.conn.Close(closing.code, closing.reason)
}
