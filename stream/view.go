package stream

// view is the shared state of the sockets of one audience: a ring of its frames, oldest first, and the sockets.
// Hub.mu guards it.
type view struct {
	audience audience
	frames   []*shared
	base     uint64 // number of frames[0]; numbers grow by one and are never reused
	members  []members
}

// members are a view's sockets that one shard serves.
type members struct {
	clients []*client
	dirty   bool
	// dirtyFrom is the number of the first frame that made the view dirty, dirtyPos the position before it. A socket
	// at that number has all earlier frames.
	dirtyFrom uint64
	dirtyPos  int64
}

func newView(audience audience, shards int) *view {
	return &view{audience: audience, members: make([]members, shards)}
}

// head returns the number of the next frame.
func (v *view) head() uint64 { return v.base + uint64(len(v.frames)) }

// after returns the frames from a number on, which must still be in the ring.
func (v *view) after(number uint64) []*shared { return v.frames[number-v.base:] }

// drop removes the oldest frame if it is this one.
func (v *view) drop(frame *shared) {
	if len(v.frames) == 0 || v.frames[0] != frame {
		return
	}
	v.frames[0] = nil
	v.frames = v.frames[1:]
	v.base++
}

func (v *view) empty() bool {
	for i := range v.members {
		if len(v.members[i].clients) > 0 {
			return false
		}
	}
	return true
}

// enter puts a client into the view of its audience, at the head of its ring; h.mu is held.
func (h *Hub) enter(c *client) {
	v := h.views[c.audience.key]
	if v == nil {
		v = newView(c.audience, len(h.shards))
		h.views[c.audience.key] = v
		v.audience.channel.add(v)
		h.watched()
	}
	m := &v.members[c.shard.number]
	c.view, c.slot, c.at = v, len(m.clients), v.head()
	m.clients = append(m.clients, c)
}

// exit removes a client from its view. A view without clients is removed; its frames go with the log.
func (h *Hub) exit(c *client) {
	m := &c.view.members[c.shard.number]
	last := len(m.clients) - 1
	m.clients[c.slot] = m.clients[last]
	m.clients[c.slot].slot = c.slot
	m.clients[last] = nil
	m.clients = m.clients[:last]
	if c.view.empty() {
		delete(h.views, c.view.audience.key)
		c.view.audience.channel.remove(c.view)
		h.watched()
	}
	if len(h.views) == 0 {
		h.log, h.logBytes = nil, 0
	}
}

// offer adds a frame to the rings of its views: the cost of an event depends on the number of views, not of readers.
// h.mu is held.
func (h *Hub) offer(frame *shared) {
	kept := false
	frame.channel.offered(&frame.Frame, func(v *view) {
		if v.audience.sees(&frame.Frame) {
			h.push(v, frame)
			kept = true
		}
	})
	if !kept {
		return
	}
	h.log = append(h.log, frame)
	h.logBytes += frame.size()
	for len(h.log) > h.opts.RingFrames || len(h.log) > 1 && h.logBytes > h.opts.RingBytes {
		h.evict()
	}
}

// push appends to one ring.
func (h *Hub) push(v *view, frame *shared) {
	for i := range v.members {
		if m := &v.members[i]; !m.dirty && len(m.clients) > 0 {
			m.dirty, m.dirtyFrom, m.dirtyPos = true, v.head(), frame.Pos-1
			if frame.Ephemeral {
				m.dirtyPos = endOf(h.head)
			}
			h.shards[i].dirty = append(h.shards[i].dirty, v)
		}
	}
	v.frames = append(v.frames, frame)
}

// evict removes the oldest frame from all rings. It is the oldest frame of every ring that still has it.
func (h *Hub) evict() {
	frame := h.log[0]
	h.log[0] = nil
	h.log = h.log[1:]
	h.logBytes -= frame.size()
	frame.channel.offered(&frame.Frame, func(v *view) { v.drop(frame) })
}

func (h *Hub) watched() {
	if h.opts.Watched != nil {
		h.opts.Watched()
	}
}

// Watched returns the sessions whose events clients follow now; all is true if a client follows every session.
func (h *Hub) Watched() (sessions map[string]struct{}, all bool) {
	sessions = map[string]struct{}{}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.channels {
		all = all || len(c.wide) > 0
		for id := range c.of {
			sessions[id] = struct{}{}
		}
	}
	return sessions, all
}
