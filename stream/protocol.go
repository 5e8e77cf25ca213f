package stream

import (
	"context"
	"net/http"
)

// Protocol is the protocol of another websocket route. Its sockets share the bounds, the writers and the slow-reader
// rules of the stream.
type Protocol interface {
	// Join is called with a new socket, before it gets any frame and before anything is read from it.
	Join(r *http.Request, socket *Socket) Listener
	// Feed derives the frames of its sockets; it does not change.
	Feed() Feed
}

// Listener receives the messages of one socket; calls come from one goroutine.
type Listener interface {
	// OnMessage handles one message. The socket reads no further until it returns.
	OnMessage(message []byte)
}

// Socket is one connection of a Protocol. Its methods may be called from any goroutine, and do nothing once it has
// ended.
type Socket struct {
	client *client
	feed   Feed
}

// For returns a handler of another protocol whose connections count with those of this one.
func (h *Handler) For(protocol Protocol) *Handler {
	other := *h
	other.protocol = protocol
	return &other
}

// Reading returns a handler that accepts messages of at most limit bytes, at once.
func (h *Handler) Reading(limit int64) *Handler {
	other, limits := *h, *h.limits
	limits.largest = uint64(max(0, limit))
	limits.burst = max(limits.burst, 2*float64(limit)/byteCost)
	other.opts.ReadLimit, other.limits = limit, &limits
	return &other
}

// serveProtocol is serve for a protocol.
func (h *Handler) serveProtocol(w http.ResponseWriter, r *http.Request, leave func()) bool {
	conn := h.accept(w, r)
	if conn == nil {
		return false
	}
	feed := h.protocol.Feed()
	client, err := h.hub.attachTo(conn, func() audience {
		return h.hub.audience(feed, Audience{Sees: func(*Frame) bool { return false }}, nil)
	}, nil, nil, h.reach(r))
	if err != nil {
		conn.Close(closeRestart, "service restart")
		return false
	}
	h.endWithAccess(client, r)
	listener := h.protocol.Join(r, &Socket{client: client, feed: feed})
	// As in serve: the handler's return frees net/http's memory of the connection.
	go func() {
		defer leave()
		defer h.hub.detach(client)
		client.end(h.read(client, conn, listener))
	}()
	return true
}

// Send queues a message after the events committed by now and before later ones. It blocks while too many messages
// are queued, and reports whether the socket is still open.
func (s *Socket) Send(message *Message) bool { return s.client.send(message) }

// SetAudience replaces the audience of the socket for later events.
func (s *Socket) SetAudience(next Audience) {
	h := s.client.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	s.client.setAudience(h.audience(s.feed, next, s.client.reach))
}

// ShowPositions adds positions to later frames.
func (s *Socket) ShowPositions() {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	s.client.positions = true
}

// Resume restarts the socket after a position. It sends the message that answer makes of the resume status, then the
// missed frames. Frames that were not sent yet are dropped, because the replay repeats them.
func (s *Socket) Resume(ctx context.Context, after int64, answer func(Notice) *Message) error {
	h := s.client.hub
	notice, from, err := h.resumePoint(ctx, cursor{after: after})
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.client.resumeAs(s.client.audience, resumeStatus{answer(notice), from})
	return nil
}

// Close ends the socket with a websocket close code and reason.
func (s *Socket) Close(code int, reason string) { s.client.end(code, reason) }

// Context ends with the socket.
func (s *Socket) Context() context.Context { return s.client.ctx }

// NewMessage makes a text message for any number of sockets; append adds its text to dst.
func NewMessage(capacity int, fill func(dst []byte) []byte) *Message {
	return newMessage(capacity, fill)
}

// TrySend is Send for messages that may be dropped: it drops the message when too many are queued.
func (s *Socket) TrySend(message *Message) { s.client.trySend(message) }

// Drain waits until all queued messages are sent or the socket has ended.
func (s *Socket) Drain() {
	c := s.client
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.replies) > 0 && c.closing == nil {
		c.drained.Wait()
	}
}
