package stream

import (
	"context"
	"sync"
)

// Close codes of this server (RFC 6455, 7.4; 4008 is ours).
const (
	closeProtocol  = 1002
	closeUTF8      = 1007
	closePolicy    = 1008
	closeTooBig    = 1009
	closeInternal  = 1011
	closeRestart   = 1012
	closeSlow      = 4008
	slowReason     = "slow_consumer"
	maxPastFilters = 64
	maxControls    = 64
)

// mode is how a client gets its frames.
type mode int

const (
	// live: the hub queues frames, the writer empties the queue.
	live mode = iota
	// behind: nothing is queued, the writer reads the journal from the cursor.
	behind
	// joining: the writer reads the journal up to joinAt while the hub already queues what comes after it.
	joining
)

// span is a filter that applied up to and including a journal position.
type span struct {
	until  int64
	filter string
}

// farewell is why a connection ends.
type farewell struct {
	code   int
	reason string
}

// client is one connection of the hub. Its reader calls the verbs (setFilter, resume, answer); its writer goroutine (run)
// is the only one that writes frames.
type client struct {
	hub      *Hub
	conn     Conn
	controls chan *Message // answers to the client; they go before events
	wake     chan struct{}
	quit     chan struct{} // closed by end
	greeted  chan struct{} // closed when the first message was handed to the connection
	done     chan struct{} // closed when the writer is gone
	ctx      context.Context
	cancel   context.CancelFunc

	mu        sync.Mutex
	goodbye   *farewell
	filter    string // changed under hub.mu and mu, so reading it under either is safe
	positions bool   // frames carry pos and seq
	mode      mode
	queue     []*shared
	queued    int // bytes of queue, estimated
	verdict   *Message
	epoch     uint64 // changes when resume throws away what was owed
	cursor    int64  // everything up to here was handed to the connection or to the writer's page; not kept up in live mode
	joinAt    int64  // joining: journal position up to which the writer reads
	skip      int64  // frames up to here were read from the journal already
	past      []span // filters that still apply to events before their until
	short     bool   // the last page reached the head it aimed at
	shrink    uint   // halvings of the page while records are large; the writer alone uses it
}

// attach adds a connection; first is the message before everything else. Call detach when its reader ends.
func (h *Hub) attach(conn Conn, filter string, first *Message, at *verdict) (*client, error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &client{
		hub: h, conn: conn, filter: filter,
		controls: make(chan *Message, maxControls), wake: make(chan struct{}, 1), quit: make(chan struct{}),
		greeted: make(chan struct{}), done: make(chan struct{}),
		ctx: ctx, cancel: cancel,
	}
	c.controls <- first
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.open {
		cancel()
		return nil, ErrStopped
	}
	if at != nil {
		c.restart(*at)
	}
	h.clients[c] = struct{}{}
	h.index(c)
	h.running.Add(1)
	h.opts.Metrics.Connections(1)
	go c.run()
	return c, nil
}

// detach ends the connection, if it has not ended yet, and waits for its writer.
func (h *Hub) detach(c *client) {
	c.end(0, "")
	<-c.done
	h.mu.Lock()
	delete(h.clients, c)
	h.unindex(c)
	h.mu.Unlock()
	h.opts.Metrics.Connections(-1)
	h.running.Done()
}

// end asks the writer to finish, once: with a close frame of this code, or without one when code is 0.
func (c *client) end(code int, reason string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.endLocked(code, reason)
}

// answer queues a message that goes before events. A client that asks without reading answers is made to wait.
func (c *client) answer(message *Message) {
	select {
	case c.controls <- message:
	case <-c.quit:
	}
}

// setFilter replaces the thread filter ("" clears it) for every event from now on. What was owed under the old filter stays owed.
func (c *client) setFilter(filter string) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.goodbye != nil || c.filter == filter {
		return
	}
	if c.mode != live || len(c.queue) > 0 {
		c.trimPast()
		// Without an event since the last change, the filter that is replaced applied to nothing.
		if n := len(c.past); n == 0 || c.past[n-1].until < h.head {
			if n >= maxPastFilters {
				c.endLocked(closePolicy, "too many filter changes while behind")
				return
			}
			c.past = append(c.past, span{until: h.head, filter: c.filter})
		}
	}
	h.unindex(c)
	c.filter = filter
	h.index(c)
}

// resume replaces the filter and starts over from a cursor. Frames not yet written are dropped: the replay repeats them.
func (c *client) resume(filter string, at verdict) {
	h := c.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.goodbye != nil {
		return
	}
	h.unindex(c)
	c.filter = filter
	h.index(c)
	c.restart(at)
	c.signal()
}

// restart turns the client to the journal at the cursor of a verdict.
func (c *client) restart(at verdict) {
	c.positions = true
	c.mode, c.short = behind, false
	c.queue, c.queued, c.past = nil, 0, nil
	c.verdict, c.cursor, c.skip = at.message, at.cursor, 0
	c.epoch++
	c.hub.opts.Metrics.CatchUp("resume")
}

// offer queues a frame; hub.mu is held. It never waits: a client whose queue is full reads the journal instead.
func (c *client) offer(frame *shared) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.goodbye != nil || c.mode == behind || frame.Pos <= c.skip {
		return
	}
	size := frame.size()
	full := len(c.queue) >= c.hub.opts.MaxQueueFrames || len(c.queue) > 0 && c.queued+size > c.hub.opts.MaxQueueBytes
	if !full {
		c.queue = append(c.queue, frame)
		c.queued += size
		if len(c.queue) == 1 {
			c.signal()
		}
		return
	}
	if c.mode == live {
		// Everything before the first queued frame was taken by the writer.
		c.trimPast()
		c.cursor = c.queue[0].Pos - 1
	}
	c.mode, c.short = behind, false
	c.queue, c.queued = nil, 0
	c.hub.opts.Metrics.CatchUp("overflow")
	c.signal()
}

// trimPast forgets filters of events that were all taken; c.mu is held.
func (c *client) trimPast() {
	taken := c.cursor
	if c.mode == live {
		if len(c.queue) == 0 {
			c.past = nil
			return
		}
		taken = c.queue[0].Pos - 1
	}
	for len(c.past) > 0 && endOf(c.past[0].until) <= taken {
		c.past = c.past[1:]
	}
}

func (c *client) endLocked(code int, reason string) {
	if c.goodbye == nil {
		c.goodbye = &farewell{code, reason}
		c.queue, c.queued, c.past = nil, 0, nil
		c.cancel()
		close(c.quit)
	}
}

// signal wakes the writer.
func (c *client) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
