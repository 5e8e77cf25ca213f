package stream

import (
	"runtime"
	"sync"
	"time"

	"harness/internal/lib/wake"
)

// A batch is written to a connection at once. It is large enough for few system calls, and small enough not to delay an
// answer to the client.
const (
	maxBatchFrames = 64
	maxBatchBytes  = 256 << 10
)

// shard is one writer: it serves its sockets in turn, each with one system call that never waits.
type shard struct {
	hub    *Hub
	number int
	wake   wake.Signal
	quit   chan struct{}
	dirty  []*view // views with frames its sockets have not seen; Hub.mu guards it

	mu    sync.Mutex // last in the lock order
	ready []*client  // sockets with work other than frames of their ring

	turn   []*client
	frames []*shared
	batch  []*Message
}

func newShard(h *Hub, number int) *shard {
	return &shard{hub: h, number: number, wake: wake.New(), quit: make(chan struct{})}
}

func (s *shard) run() {
	for {
		select {
		case <-s.quit:
			return
		case <-s.wake:
		}
		// Goroutines that are about to publish run first, which saves system calls. Without such goroutines there is no
		// delay.
		runtime.Gosched()
		if !s.gather() {
			return
		}
		for {
			began := time.Now()
			if !s.round() {
				break
			}
			clear(s.turn)
			if !s.pause(time.Since(began)) {
				return
			}
		}
	}
}

// A round through a large shard costs one system call for each socket, for one frame or for 64. So after a long round
// the next one waits half of that time, at most maxPause. Events published during the wait are sent in the same round.
const (
	longRound = time.Millisecond
	maxPause  = 4 * time.Millisecond
)

// pause waits after a round; false when the shard must end.
func (s *shard) pause(round time.Duration) bool {
	if round < longRound {
		return true
	}
	select {
	case <-s.quit:
		return false
	case <-time.After(min(round/2, maxPause)):
		return true
	}
}

// A round through burstSize sockets or more takes long, so it first waits for records that the journal is about to
// publish. The wait is burstWait for each socket, at most maxPause: about half the time of the round.
const (
	gatherThreshold = 128
	gatherPerConn   = 4 * time.Microsecond
)

// gather waits before a round; false when the shard must end.
func (s *shard) gather() bool {
	waiting := 0
	s.hub.mu.Lock()
	for _, v := range s.dirty {
		waiting += len(v.members[s.number].clients)
	}
	s.hub.mu.Unlock()
	if waiting < gatherThreshold || !s.hub.journal.Pending() {
		return true
	}
	timer := time.After(min(time.Duration(waiting)*gatherPerConn, maxPause))
	for s.hub.journal.Pending() {
		select {
		case <-s.quit:
			return false
		case <-s.wake: // records were published
		case <-timer:
			return true
		}
	}
	return true
}

// enqueue requests a visit to a client. It never blocks.
func (s *shard) enqueue(c *client) {
	s.mu.Lock()
	already := c.queuedUp
	if !already {
		c.queuedUp = true
		s.ready = append(s.ready, c)
	}
	s.mu.Unlock()
	if !already {
		s.wake.Set()
	}
}

// round serves each waiting client once, and reports whether there was any.
func (s *shard) round() bool {
	s.mu.Lock()
	s.turn = append(s.turn[:0], s.ready...)
	clear(s.ready)
	s.ready = s.ready[:0]
	for _, c := range s.turn {
		c.queuedUp = false
	}
	s.mu.Unlock()

	s.hub.mu.Lock()
	for _, v := range s.dirty {
		m := &v.members[s.number]
		m.dirty = false
		s.turn = append(s.turn, m.clients...)
	}
	clear(s.dirty)
	s.dirty = s.dirty[:0]
	s.hub.mu.Unlock()

	for _, c := range s.turn {
		s.serve(c)
	}
	return len(s.turn) > 0
}

// task is the next step for a client.
type task int

const (
	taskNone task = iota
	taskWrite
	taskCatchUp
	taskLeave
)

// claim is a batch of a client's answers and frames that is being written; the client is busy until it is settled.
type claim struct {
	task      task
	answers   []*Message
	frames    []*shared
	positions bool
	more      bool // the batch was full
	epoch     uint64
}

// serve does the next step for a client. Work that would block (a full connection, the journal, a close) gets a
// temporary goroutine.
func (s *shard) serve(c *client) {
	taken := c.claim(s.frames[:0])
	s.frames = taken.frames
	switch taken.task {
	case taskNone:
	case taskLeave:
		s.hub.writing.Go(c.leave)
	case taskCatchUp:
		s.hub.writing.Go(c.catchUp)
	case taskWrite:
		batch := append(s.batch[:0], taken.answers...)
		for _, frame := range taken.frames {
			batch = append(batch, frame.message(taken.positions))
		}
		full, ok := c.write(batch, &taken)
		clear(batch)
		clear(taken.frames)
		s.batch = batch
		switch {
		case !ok:
			c.release()
		case full:
			s.hub.writing.Go(c.park)
		default:
			c.settle(taken.more)
		}
	}
}

// claim builds the next batch of a client that is not busy.
func (c *client) claim(frames []*shared) claim {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := claim{frames: frames, positions: c.positions, epoch: c.epoch}
	switch {
	case c.busy:
		return taken
	case c.closing != nil:
		taken.task = taskLeave
	case c.resumeStatus != nil || c.mode != live:
		taken.task = taskCatchUp
	default:
		taken.answers = c.takeAnswers()
		taken.frames, taken.more = c.takeFrames(frames, maxBatchFrames-len(taken.answers))
		switch {
		case len(taken.answers)+len(taken.frames) > 0:
			taken.task = taskWrite
		case c.mode != live:
			taken.task = taskCatchUp
		}
	}
	c.busy = taken.task != taskNone
	return taken
}

// takeFrames adds the frames that are due: those of an earlier view first, then those of the ring. A client that the
// ring has overtaken falls behind. h.mu and c.mu are held.
func (c *client) takeFrames(frames []*shared, limit int) (taken []*shared, more bool) {
	bytes := 0
	for len(c.queue) > 0 && len(frames) < limit && bytes < maxBatchBytes {
		bytes += c.queue[0].size()
		c.queued -= c.queue[0].size()
		frames = append(frames, c.queue[0])
		c.queue = c.queue[1:]
	}
	if len(c.queue) > 0 {
		return frames, true
	}
	c.queue, c.queued = nil, 0
	if c.at < c.view.base {
		if len(frames) == 0 {
			c.fallBehind()
		}
		return frames, true
	}
	for _, frame := range c.view.after(c.at) {
		for c.replyDue() && len(frames) < limit && bytes < maxBatchBytes {
			frames = append(frames, c.takeReply())
			bytes += frames[len(frames)-1].size()
		}
		if len(frames) >= limit || bytes >= maxBatchBytes {
			return frames, true
		}
		c.at++
		if frame = c.share(frame); frame == nil {
			continue
		}
		bytes += frame.size()
		frames = append(frames, frame)
	}
	c.cursor = max(c.cursor, endOf(c.hub.head))
	for c.replyDue() {
		if len(frames) >= limit || bytes >= maxBatchBytes {
			return frames, true
		}
		frames = append(frames, c.takeReply())
		bytes += frames[len(frames)-1].size()
	}
	return frames, false
}

// share returns the part of the next ring frame that is due to a client, nil for none; c.mu is held.
func (c *client) share(frame *shared) *shared {
	if !frame.Ephemeral {
		if frame.Pos <= c.cursor {
			return nil // already read from the journal
		}
		c.cursor = frame.Pos
	}
	if frame.Text != nil {
		return c.textShare(frame)
	}
	return frame
}

// write sends a claim's batch and returns unsent messages to the client. full: wait before the next one.
func (c *client) write(batch []*Message, taken *claim) (full, ok bool) {
	sent, full, err := c.conn.Write(batch)
	c.count(batch[:sent])
	if sent < len(batch) && err == nil {
		c.mu.Lock()
		if sent < len(taken.answers) {
			c.answers = append(taken.answers[sent:len(taken.answers):len(taken.answers)], c.answers...)
		}
		left := taken.frames[max(0, sent-len(taken.answers)):]
		if c.epoch != taken.epoch {
			left = c.spareReplies(left)
		}
		if c.closing == nil {
			c.queue = append(append(make([]*shared, 0, len(left)+len(c.queue)), left...), c.queue...)
			for _, frame := range left {
				c.queued += frame.size()
			}
		}
		c.mu.Unlock()
	}
	if err != nil {
		c.failed(err)
		return false, false
	}
	return full, true
}

// settle ends a claim that the shard itself wrote; more requests another visit.
func (c *client) settle(more bool) {
	c.mu.Lock()
	c.busy = false
	more = more || c.closing != nil || c.resumeStatus != nil || c.mode != live || len(c.answers) > 0 ||
		len(c.replies) > 0 || len(c.queue) > 0
	c.mu.Unlock()
	if more {
		c.shard.enqueue(c)
	}
}

// release returns the client to its shard.
func (c *client) release() { c.settle(true) }

// park waits, on its own goroutine, until the connection accepts bytes again.
func (c *client) park() {
	if err := c.conn.Wait(); err != nil {
		c.failed(err)
	}
	c.release()
}
