package stream

import (
	"context"
	"sync"
	"time"
)

// Close codes of this server (RFC 6455, 7.4; 4008 is ours).
const (
	closeProtocol  = 1002
	closeUTF8      = 1007
	closePolicy    = 1008
	closeTooBig    = 1009
	closeInternal  = 1011
	closeRestart   = 1012
	closeBusy      = 1013
	closeSlow      = 4008
	slowReason     = "slow_consumer"
	maxPastFilters = 64
	maxControls    = 64
	// These bound the frames kept for a client that changed its filter; a client with more reads the journal.
	maxOwedFrames = 1024
	maxOwedBytes  = 1 << 20
)

// mode is how a client gets its frames.
type mode int

const (
	// live: frames come from the ring of the client's view.
	live mode = iota
	// behind: frames come from the journal, after the cursor.
	behind
	// joining: frames come from the journal up to joinAt; later ones are in the ring.
	joining
)

// audienceUntil is an audience up to and including a journal position.
type audienceUntil struct {
	until    int64
	audience audience
}

// closeReason is the reason for ending a connection.
type closeReason struct {
	code   int
	reason string
}

// client is one connection of the hub: an index in a ring and a little state. Its reader calls setFilter, resume and
// answer. Its shard writes, and passes blocking work to a goroutine (park, catchUp, leave). The writer holds busy, so
// there is one writer at a time.
type client struct {
	hub     *Hub
	shard   *shard
	conn    Conn
	reach   Reach         // nil: no limit
	greeted chan struct{} // closed when the first message was passed to the connection
	done    chan struct{} // closed when the connection has ended
	ctx     context.Context
	cancel  context.CancelFunc
	timer   *time.Timer // stops the pings

	queuedUp bool // shard.mu guards it

	// Hub.mu guards these three.
	view *view
	slot int    // index among the view's members
	at   uint64 // number of the next frame in the view's ring

	mu           sync.Mutex
	drained      sync.Cond // answers were taken, or the client ended
	closing      *closeReason
	busy         bool
	met          bool     // greeted is closed
	pinged       bool     // the next tick checks for a sign of life
	audience     audience // changed under hub.mu and mu, so reading it under either is safe
	positions    bool     // frames carry pos and seq
	mode         mode
	answers      []*Message     // sent before events
	replies      []reply        // each sent after the events that precede it
	queue        []*shared      // frames due before those of the ring, from an earlier view or not accepted by a full connection
	progress     []textProgress // groups of deltas of which the client has a part
	queued       int            // bytes of queue, estimated
	resumeStatus *Message
	epoch        uint64          // changes when resume drops the frames that were due
	cursor       int64           // every frame up to here was read from the ring or the journal
	joinAt       int64           // joining: journal position up to which the journal is read
	past         []audienceUntil // not live: audiences that still apply to events before their until
	short        bool            // the last page reached the head it aimed at
	shrink       uint            // halvings of the page while records are large; only catchUp uses it and gapEnd
	gapEnd       int64           // the client was notified that frames up to here may be missing
}

// attachTo adds a connection with the audience of choose, which it calls under h.mu. first is the first message;
// without one the connection counts as greeted. Call detach when its reader ends.
func (h *Hub) attachTo(conn Conn, choose func() audience, first *Message, at *resumeStatus, reach Reach) (*client, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{hub: h, conn: conn, reach: reach, greeted: make(chan struct{}), done: make(chan struct{}), ctx: ctx, cancel: cancel}
	c.drained.L = &c.mu
	if first != nil {
		c.answers = []*Message{first}
	} else {
		c.met = true
		close(c.greeted)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	c.audience = choose()
	if !h.open {
		cancel()
		return nil, ErrStopped
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shard = h.shards[h.attached%uint64(len(h.shards))]
	h.attached++
	c.cursor = endOf(h.head)
	if at != nil {
		c.restart(*at)
	}
	h.clients[c] = struct{}{}
	if reach != nil {
		h.limited++
	}
	h.enter(c)
	h.running.Add(1)
	h.opts.Metrics.Connections(1)
	c.timer = time.AfterFunc(h.opts.PingEvery, c.tick)
	c.shard.enqueue(c)
	return c, nil
}

// detach ends the connection, if it has not ended yet, and waits for its writer.
func (h *Hub) detach(c *client) {
	c.end(0, "")
	<-c.done
	h.mu.Lock()
	delete(h.clients, c)
	if c.reach != nil {
		h.limited--
	}
	h.exit(c)
	h.mu.Unlock()
	h.opts.Metrics.Connections(-1)
	h.running.Done()
}

// end requests the end of the connection once: with a close frame of this code, or without one when code is 0.
func (c *client) end(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(code, reason)
}

// answer queues a message to send before events. It blocks while the client does not read its answers.
func (c *client) answer(message *Message) {
	c.mu.Lock()
	for len(c.answers) >= maxControls && c.closing == nil {
		c.drained.Wait()
	}
	if c.closing == nil {
		c.answers = append(c.answers, message)
	}
	c.mu.Unlock()
	c.shard.enqueue(c)
}

// takeAnswers removes and returns the queued answers; c.mu is held.
func (c *client) takeAnswers() []*Message {
	taken := c.answers
	if len(taken) > maxControls {
		taken = taken[:maxControls:maxControls]
	}
	if c.answers = c.answers[len(taken):]; len(c.answers) == 0 {
		c.answers = nil
	}
	c.drained.Broadcast()
	return taken
}

// setFilter replaces the thread filter ("" clears it) for later events. Frames due under the old filter are still
// sent.
func (c *client) setFilter(filter string) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.setAudience(h.byThread(filter, c.reach))
}

// setAudience is setFilter for any channel; h.mu is held.
func (c *client) setAudience(next audience) {
	h := c.hub
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil || c.audience.key == next.key {
		return
	}
	if c.mode == live && !c.keepOwed() {
		c.fallBehind()
	}
	if c.mode != live {
		c.mode = behind
		c.trimPast()
		// Without an event since the last change, the replaced filter applied to nothing.
		if n := len(c.past); n == 0 || c.past[n-1].until < h.head {
			if n >= maxPastFilters {
				h.opts.Metrics.Closed("filter_changes")
				c.endLocked(closePolicy, "too many filter changes while behind")
				return
			}
			c.past = append(c.past, audienceUntil{until: h.head, audience: c.audience})
		}
		c.loosenReplies()
	}
	h.exit(c)
	c.audience = next
	h.enter(c)
	// A visit requested by the old view would no longer find the client.
	if len(c.queue) > 0 {
		c.shard.enqueue(c)
	}
}

// keepOwed moves the frames due from the ring into the client's own queue, within the bounds of a ring; h.mu and c.mu
// are held.
func (c *client) keepOwed() bool {
	if c.at < c.view.base {
		return false
	}
	owed, bytes := c.view.after(c.at), 0
	for _, frame := range owed {
		bytes += frame.size()
	}
	frames := min(maxOwedFrames, c.hub.opts.RingFrames)
	if len(owed) > 0 && (len(c.queue)+len(owed) > frames || c.queued+bytes > min(maxOwedBytes, c.hub.opts.RingBytes)) {
		return false
	}
	keep := func(frame *shared) {
		c.queue = append(c.queue, frame)
		c.queued += frame.size()
	}
	for _, frame := range owed {
		for c.replyDue() {
			keep(c.takeReply())
		}
		c.at++
		if frame = c.share(frame); frame != nil {
			keep(frame)
		}
	}
	for c.replyDue() {
		keep(c.takeReply())
	}
	c.cursor = max(c.cursor, endOf(c.hub.head))
	return true
}

// fallBehind switches a live client to the journal; h.mu and c.mu are held.
func (c *client) fallBehind() {
	if m := &c.view.members[c.shard.number]; c.at == m.dirtyFrom && c.at < c.view.head() {
		c.cursor = max(c.cursor, m.dirtyPos)
	}
	c.mode, c.short, c.past = behind, false, nil
	c.hub.opts.Metrics.CatchUp("overflow")
	c.shard.enqueue(c)
}

// resume replaces the filter and starts over from a cursor. Frames not yet written are dropped: the replay repeats
// them.
func (c *client) resume(filter string, at resumeStatus) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.resumeAs(h.byThread(filter, c.reach), at)
}

// resumeAs is resume for any channel; h.mu is held.
func (c *client) resumeAs(next audience, at resumeStatus) {
	h := c.hub
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing != nil {
		return
	}
	h.exit(c)
	c.audience = next
	h.enter(c)
	c.restart(at)
	c.shard.enqueue(c)
}

// restart switches the client to the journal at the cursor of a resume status.
func (c *client) restart(at resumeStatus) {
	c.positions = true
	c.mode, c.short = behind, false
	c.freeReplies()
	c.queue, c.queued, c.past, c.progress = nil, 0, nil, nil
	c.resumeStatus, c.cursor = at.message, at.cursor
	c.epoch++
	c.hub.opts.Metrics.CatchUp("resume")
}

// trimPast drops filters whose events the client has all read; c.mu is held.
func (c *client) trimPast() {
	for len(c.past) > 0 && endOf(c.past[0].until) <= c.cursor {
		c.past = c.past[1:]
	}
}

func (c *client) endLocked(code int, reason string) {
	if c.closing != nil {
		return
	}
	c.closing = &closeReason{code, reason}
	c.replies = nil
	c.queue, c.queued, c.past, c.progress = nil, 0, nil, nil
	c.cancel()
	c.timer.Stop()
	c.drained.Broadcast()
	c.shard.enqueue(c)
}

// tick pings, and later checks for a sign of life.
func (c *client) tick() {
	c.mu.Lock()
	if c.closing != nil {
		c.mu.Unlock()
		return
	}
	// The client is attached, so Stop waits for this too.
	c.hub.running.Add(1)
	defer c.hub.running.Done()
	c.pinged = !c.pinged
	pinged := c.pinged
	if pinged {
		c.timer.Reset(c.hub.opts.PingTimeout)
	}
	c.mu.Unlock()
	if pinged {
		c.conn.Ping()
		return
	}
	if !c.conn.Alive() {
		c.hub.opts.Metrics.Closed("no_pong")
		c.end(0, "")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing == nil {
		c.timer.Reset(c.hub.opts.PingEvery - c.hub.opts.PingTimeout)
	}
}
