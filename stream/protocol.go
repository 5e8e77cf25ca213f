package stream

import (
	"context"
	"net/http"
)

// Protocol is what is spoken on the sockets of a further route. They share the bounds, the writers and the slow-reader
// rules of the stream.
type Protocol interface {
	// Join is called with a new socket, which sees nothing yet, before anything is read from it.
	Join(r *http.Request, socket *Socket) Listener
	// Feed is what its sockets are shown; it does not change.
	Feed() Feed
}

// Listener receives the messages of one socket; calls come from one goroutine.
type Listener interface {
	// Hear gets one message. The socket reads no further until it returns.
	Hear(message []byte)
}

// Socket is one connection of a Protocol. Its methods may be called from any goroutine, and do nothing once it has
// ended.
type Socket struct {
	client *client
	feed   Feed
}

// For is a handler of another protocol whose connections count with those of this one.
func (h *Handler) For(protocol Protocol) *Handler {
	other := *h
	other.protocol = protocol
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
	// As in serve: with the handler's return what net/http keeps of the connection is free.
	go func() {
		defer leave()
		defer h.hub.detach(client)
		client.end(h.read(client, conn, listener))
	}()
	return true
}

// Send gives the socket a message, which leaves behind the events that are committed by now and before those that come.
// It waits while too many messages wait, and reports whether the socket is still there.
func (s *Socket) Send(message *Message) bool { return s.client.send(message) }

// See replaces what the socket is shown of events from now on.
func (s *Socket) See(next Audience) {
	h := s.client.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	s.client.setAudience(h.audience(s.feed, next, s.client.reach))
}

// ShowPositions has frames carry their positions from now on.
func (s *Socket) ShowPositions() {
	s.client.mu.Lock()
	defer s.client.mu.Unlock()
	s.client.positions = true
}

// Resume has the socket start over behind a position: first goes what answer makes of how that stands to the journal,
// then what was missed. Frames that had not left yet are dropped: they are repeated.
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

// NewMessage makes a text message that may be sent to many sockets; append adds its text to dst.
func NewMessage(capacity int, fill func(dst []byte) []byte) *Message {
	return newMessage(capacity, fill)
}

// Tell is Send for messages that may be dropped: it does not wait, and drops the message when too many are
// queued.
func (s *Socket) Tell(message *Message) { s.client.trySend(message) }

// Drain waits until what was sent is on its way, or the socket has ended.
func (s *Socket) Drain() {
	c := s.client
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.replies) > 0 && c.closing == nil {
		c.drained.Wait()
	}
}
