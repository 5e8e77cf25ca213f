package stream

import (
	"errors"
	"sync"
	"time"

	"harness/journal"
)

// A batch is what the writer hands to the connection at once: enough to make system calls rare, little enough that an answer to the client
// is not held up for long.
const (
	maxBatchFrames = 64
	maxBatchBytes  = 256 << 10
)

// page is a piece of the journal the writer is working through.
type page struct {
	records []journal.Record
	filter  string
	after   int64 // frames up to this cursor are not wanted
	epoch   uint64
	gap     *Message
	ready   []*shared // frames of the record at hand
}

// run is the writer goroutine of a client; it ends the connection when it returns.
func (c *client) run() {
	defer close(c.done)
	ping := time.NewTimer(c.hub.opts.PingEvery)
	defer ping.Stop()
	var (
		work   page
		pinged bool
		greet  = sync.OnceFunc(func() { close(c.greeted) })
		batch  []*Message
	)
	for {
		batch = c.next(batch[:0], &work)
		if len(batch) > 0 {
			c.write(batch)
			greet()
			clear(batch)
			continue
		}
		if c.ended() {
			c.leave()
			return
		}
		select {
		case <-c.quit:
		case message := <-c.controls:
			c.write([]*Message{message})
		case <-c.wake:
		case <-ping.C:
			pinged = !pinged
			if !pinged {
				ping.Reset(c.hub.opts.PingEvery - c.hub.opts.PingTimeout)
				if !c.conn.Alive() {
					c.end(0, "")
				}
				continue
			}
			ping.Reset(c.hub.opts.PingTimeout)
			c.conn.Ping()
		}
	}
}

func (c *client) ended() bool {
	select {
	case <-c.quit:
		return true
	default:
		return false
	}
}

func (c *client) leave() {
	c.mu.Lock()
	goodbye := *c.goodbye
	c.mu.Unlock()
	if goodbye.code == 0 {
		c.conn.Abort()
		return
	}
	c.conn.Close(goodbye.code, goodbye.reason)
}

func (c *client) write(batch []*Message) {
	err := c.conn.Write(batch)
	if err == nil {
		bytes := 0
		for _, message := range batch {
			bytes += len(message.wire)
		}
		c.hub.opts.Metrics.Sent(len(batch), bytes)
		return
	}
	if errors.Is(err, ErrStalled) {
		c.hub.opts.Metrics.SlowConsumer("stalled")
		c.end(closeSlow, slowReason)
		return
	}
	c.end(0, "")
}

// next gathers what may be written now; nothing means: wait.
func (c *client) next(batch []*Message, work *page) []*Message {
	for {
		if c.ended() {
			return nil
		}
		for len(batch) < maxControls {
			select {
			case message := <-c.controls:
				batch = append(batch, message)
				continue
			default:
			}
			break
		}
		if len(batch) > 0 {
			return batch
		}
		batch, again := c.frames(batch, work)
		if len(batch) > 0 || !again {
			return batch
		}
	}
}

// frames gathers a batch of event frames, from the page at hand, else from the queue; again asks for another round (controls first).
func (c *client) frames(batch []*Message, work *page) (out []*Message, again bool) {
	c.mu.Lock()
	if c.verdict != nil {
		batch = append(batch, c.verdict)
		c.verdict = nil
		c.mu.Unlock()
		return batch, true
	}
	if work.epoch != c.epoch {
		*work = page{epoch: c.epoch}
	}
	positions := c.positions
	if work.pending() {
		c.mu.Unlock()
		return c.fromPage(batch, work, positions), true
	}
	if c.mode != live {
		c.mu.Unlock()
		return batch, c.replay(work)
	}
	taken := c.take()
	c.mu.Unlock()
	for _, frame := range taken {
		batch = append(batch, frame.message(positions))
	}
	return batch, false
}

// take removes a batch from the queue; c.mu is held.
func (c *client) take() []*shared {
	n, bytes := 0, 0
	for n < len(c.queue) && n < maxBatchFrames && bytes < maxBatchBytes {
		bytes += c.queue[n].size()
		n++
	}
	taken := c.queue[:n:n]
	c.queue = c.queue[n:]
	c.queued -= bytes
	if len(c.queue) == 0 {
		c.queue, c.queued, c.past = nil, 0, nil
	}
	return taken
}

func (p *page) pending() bool { return p.gap != nil || len(p.ready) > 0 || len(p.records) > 0 }

// fromPage derives the next frames of a page.
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
			work.ready = c.hub.derive(work.records[0])
			work.records = work.records[1:]
		}
		frame := work.ready[0]
		work.ready = work.ready[1:]
		if frame.Pos > work.after && frame.visible(work.filter) {
			batch = append(batch, frame.message(positions))
			bytes += frame.size()
		}
	}
	return batch
}
