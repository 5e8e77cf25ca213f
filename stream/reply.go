package stream

// A reply is a message to one connection with a position among the events. It is sent after the events that existed
// when it was queued, and before later ones. Answers (client.answer) have no position.

// maxReplies bounds the queued replies of a connection; the sender of a further one blocks.
const maxReplies = 256

// reply is a message and its position: the number of the next frame in the ring when it was queued, and the cursor
// after the last event.
type reply struct {
	frame *shared
	at    uint64
	pos   int64
}

// send queues a reply, or waits while too many are queued; it returns false when the connection ends.
func (c *client) send(message *Message) bool {
	c.mu.Lock()
	for len(c.replies) >= maxReplies && c.closing == nil {
		c.drained.Wait()
	}
	c.mu.Unlock()
	return c.enqueue(message)
}

// trySend is send for messages that may be dropped: it drops the message while too many are queued.
func (c *client) trySend(message *Message) {
	c.mu.Lock()
	full := len(c.replies) >= maxReplies
	c.mu.Unlock()
	if !full {
		c.enqueue(message)
	}
}

// enqueue queues a reply after the current events.
func (c *client) enqueue(message *Message) bool {
	frame := &shared{reply: message}
	h := c.hub
	h.mu.Lock()
	c.mu.Lock()
	open := c.closing == nil
	if open {
		c.replies = append(c.replies, reply{frame, c.view.head(), endOf(h.head)})
	}
	c.mu.Unlock()
	h.mu.Unlock()
	c.shard.enqueue(c)
	return open
}

// replyDue reports whether a reply goes before the next frame of the ring; c.mu is held.
func (c *client) replyDue() bool { return len(c.replies) > 0 && c.replies[0].at <= c.at }

// takeReply takes the next reply; c.mu is held.
func (c *client) takeReply() *shared {
	frame := c.replies[0].frame
	if c.replies = c.replies[1:]; len(c.replies) == 0 {
		c.replies = nil
	}
	c.drained.Broadcast()
	return frame
}

// loosenReplies handles a client that reads the journal and changes its ring: from now on only the cursors place its
// replies. c.mu is held.
func (c *client) loosenReplies() {
	for i := range c.replies {
		c.replies[i].at = 0
	}
}

// spareReplies returns the replies among dropped frames.
func (c *client) spareReplies(dropped []*shared) (replies []*shared) {
	for _, frame := range dropped {
		if frame.reply != nil {
			replies = append(replies, frame)
		}
	}
	return replies
}

// freeReplies sends the replies first when a client starts over, because the frames before them are dropped. c.mu is
// held.
func (c *client) freeReplies() {
	for _, frame := range c.spareReplies(c.queue) {
		c.answers = append(c.answers, frame.reply)
	}
	for len(c.replies) > 0 {
		c.answers = append(c.answers, c.takeReply().reply)
	}
}
