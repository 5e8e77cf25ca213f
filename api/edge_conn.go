package api

import (
	"container/list"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// answerPiece is how much of an answer a peer has to take within AnswerTimeout.
const answerPiece = 64 << 10

// What a connection waits for.
const (
	phaseHeader int32 = iota
	phaseBody
	phaseIdle
	phaseBusy // nothing: it is being answered
)

type edgeListener struct {
	net.Listener
	edge *Edge
}

// Accept implements net.Listener.
func (l edgeListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &edgeConn{Conn: conn, edge: l.edge, accepted: time.Now()}, nil
}

// edgeConn notices when its peer is late, and gives it time for an answer by what it takes.
type edgeConn struct {
	net.Conn
	edge    *Edge
	phase   atomic.Int32
	refused atomic.Bool   // came beyond the bound
	place   *list.Element // among those that wait; edge.mu guards it

	accepted time.Time
	peerOnce sync.Once
	peer     any
}

// Peer is what is known about who is at the other end of a request's connection: what find returned when it was first asked, with the moment
// the connection was accepted. Without an Edge it is asked each time, with the present.
func Peer[T any](r *http.Request, find func(accepted time.Time) T) T {
	c, _ := r.Context().Value(edgeKey{}).(*edgeConn)
	if c == nil {
		return find(time.Now())
	}
	c.peerOnce.Do(func() { c.peer = find(c.accepted) })
	known, _ := c.peer.(T)
	return known
}

// edgeOf finds the edge's connection under wrappers, nil when there is none.
func edgeOf(conn net.Conn) *edgeConn {
	for {
		if c, found := conn.(*edgeConn); found {
			return c
		}
		wrapper, wraps := conn.(interface{ Unwrap() net.Conn })
		if !wraps {
			return nil
		}
		conn = wrapper.Unwrap()
	}
}

// Read implements net.Conn.
func (c *edgeConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.phase.CompareAndSwap(phaseIdle, phaseHeader)
	}
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.late()
	}
	return n, err
}

// late counts a timeout once. net/http also sets deadlines of its own to get a read back: never while the peer is waited for.
func (c *edgeConn) late() {
	switch c.phase.Swap(phaseBusy) {
	case phaseHeader:
		c.edge.opts.Metrics.Reaped("header")
	case phaseBody:
		c.edge.opts.Metrics.Reaped("body")
	case phaseIdle:
		c.edge.opts.Metrics.Reaped("idle")
	}
}

// Write implements net.Conn.
func (c *edgeConn) Write(p []byte) (written int, err error) {
	for {
		if err := c.SetWriteDeadline(time.Now().Add(c.edge.opts.AnswerTimeout)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:min(len(p), written+answerPiece)])
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.edge.opts.Metrics.Reaped("answer")
			}
			return written, err
		}
		if written == len(p) {
			return written, nil
		}
	}
}

// Unwrap is the connection itself, for who takes it over from net/http.
func (c *edgeConn) Unwrap() net.Conn { return c.Conn }

// CloseWrite lets net/http finish an answer before the peer is reset.
func (c *edgeConn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}

// bound gives request bodies their time and refuses what came beyond the bound.
func (e *Edge) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, known := r.Context().Value(edgeKey{}).(*edgeConn)
		switch {
		case !known || c == nil:
		case c.refused.Load():
			e.opts.Metrics.Refused()
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			writeRaw(w, http.StatusServiceUnavailable, jsonType, tooManyConnectionsBody())
			return
		case r.Body != nil && r.Body != http.NoBody:
			e.await(c, phaseBody)
			control := http.NewResponseController(w)
			if err := control.SetReadDeadline(time.Now().Add(e.opts.BodyTimeout)); err == nil {
				r.Body = &timedBody{ReadCloser: r.Body, arrived: func() {
					// The connection may be gone; then there is no deadline to lift either.
					_ = control.SetReadDeadline(time.Time{})
					e.occupy(c)
				}}
			}
		}
		next.ServeHTTP(w, r)
	})
}

func tooManyConnectionsBody() []byte {
	return []byte(`{"status":"error","code":"too_many_connections",` +
		`"message":"all connections of this server are busy; try again in a moment, or raise HARNESS_HTTP_MAX_CONNECTIONS"}`)
}

// timedBody lifts the deadline when the body is there: the handler may take longer. What a handler leaves unread, net/http throws away within
// the same deadline.
type timedBody struct {
	io.ReadCloser
	arrived func()
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && b.arrived != nil {
		b.arrived()
		b.arrived = nil
	}
	return n, err
}
