package conns

import (
	"container/list"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"harness/api/calls"
	"harness/api/rest"
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

type limitedListener struct {
	net.Listener
	limiter *Limiter
}

// Accept implements net.Listener.
func (l limitedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Conn{Conn: conn, limiter: l.limiter}, nil
}

// Conn is a connection that notices when its peer is late, and gives it time for an answer by what it takes.
type Conn struct {
	net.Conn
	limiter   *Limiter
	head      requestHead
	deadlines deadlines
	phase     atomic.Int32
	refused   atomic.Bool   // came beyond the bound
	long      atomic.Bool   // a long answer is under way
	place     *list.Element // among those that wait; limiter.mu guards it

}

// limitedOf finds the limiter's connection under wrappers, nil when there is none.
func limitedOf(conn net.Conn) *Conn {
	for {
		if c, found := conn.(*Conn); found {
			return c
		}
		wrapper, wraps := conn.(interface{ Unwrap() net.Conn })
		if !wraps {
			return nil
		}
		conn = wrapper.Unwrap()
	}
}

// Of is the connection of a request, nil when there is no limiter.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(limitedKey{}).(*Conn)
	return c
}

// Inner is a connection without the limiter's wrapper, for a handler that takes it over.
func Inner(conn net.Conn) net.Conn {
	if limited := limitedOf(conn); limited != nil {
		return limited.Conn
	}
	return conn
}

// Writes notes how much of an answer is written at once. A long one has less time for each piece.
func (c *Conn) Writes(bytes int) {
	if c != nil && bytes >= answerPiece {
		c.long.Store(true)
	}
}

// Read implements net.Conn.
func (c *Conn) Read(p []byte) (int, error) {
	n, err := c.deadlines.read(c.Conn, p)
	if n > 0 {
		c.head.read(p[:n])
		c.phase.CompareAndSwap(phaseIdle, phaseHeader)
	}
	if err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.late()
	}
	return n, err
}

// late counts a timeout once. net/http also sets deadlines of its own to get a read back: never while the peer is
// waited for.
func (c *Conn) late() {
	switch c.phase.Swap(phaseBusy) {
	case phaseHeader:
		c.limiter.opts.Metrics.Reaped("header")
	case phaseBody:
		c.limiter.opts.Metrics.Reaped("body")
	case phaseIdle:
		c.limiter.opts.Metrics.Reaped("idle")
	}
}

// Write implements net.Conn. What net/http says to a URL it cannot read is put into the API's words.
func (c *Conn) Write(p []byte) (written int, err error) {
	if refusal := c.head.refusal(); refusal != nil {
		if _, err := c.send(refusal); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return c.send(p)
}

func (c *Conn) send(p []byte) (written int, err error) {
	for {
		patience := c.limiter.opts.AnswerTimeout
		if c.long.Load() {
			patience = min(patience, c.limiter.opts.LongAnswerTimeout)
		}
		if err := c.deadlines.allow(c.Conn, patience); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(p[written:min(len(p), written+answerPiece)])
		written += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				c.limiter.opts.Metrics.Reaped("answer")
			}
			return written, err
		}
		if written == len(p) {
			return written, nil
		}
	}
}

// Unwrap is the connection itself, for who takes it over from net/http.
func (c *Conn) Unwrap() net.Conn { return c.Conn }

// CloseWrite lets net/http finish an answer before the peer is reset.
func (c *Conn) CloseWrite() error {
	if half, can := c.Conn.(interface{ CloseWrite() error }); can {
		return half.CloseWrite()
	}
	return nil
}

// bound gives request bodies their time and refuses what came beyond the bound.
func (l *Limiter) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, known := r.Context().Value(limitedKey{}).(*Conn)
		if known && c != nil {
			c.head.begin()
			c.long.Store(false)
		}
		if headerBytes(r) > maxHeaderBytes { // net/http lets some more pass
			w.Header().Set("Connection", "close")
			l.refuse(w, r, http.StatusRequestHeaderFieldsTooLarge, "request_failed", headerTooLongBody())
			return
		}
		switch {
		case !known || c == nil:
		case c.refused.Load():
			l.opts.Metrics.Refused()
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			l.refuse(w, r, http.StatusServiceUnavailable, "too_many_connections", tooManyConnectionsBody())
			return
		case r.Body != nil && r.Body != http.NoBody:
			l.await(c, phaseBody)
			control := http.NewResponseController(w)
			if err := control.SetReadDeadline(time.Now().Add(l.opts.BodyTimeout)); err == nil {
				// net/http looks at its own request to see what of a body was left unread, and only then lets the peer read the
				// answer before the connection is reset.
				timed := *r
				r = &timed
				r.Body = &timedBody{ReadCloser: r.Body, arrived: func() {
					// The connection may be gone; then there is no deadline to lift either.
					_ = control.SetReadDeadline(time.Time{})
					l.occupy(c)
				}}
			}
		}
		next.ServeHTTP(w, r)
	})
}

// refuse answers in place of the handler, and has that recorded as what the handler answers is.
func (l *Limiter) refuse(w http.ResponseWriter, r *http.Request, status int, code string, body []byte) {
	var answer http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Failed(r.Context(), code)
		rest.WriteRaw(w, status, rest.JSONType, body)
	})
	if recorded := l.recorded.Load(); recorded != nil {
		answer = (*recorded)(answer)
	}
	if base := l.opts.BasePath; base != "" && strings.HasPrefix(r.URL.Path, base+"/") {
		answer = http.StripPrefix(base, answer)
	}
	answer.ServeHTTP(w, r)
}

// headerBytes is how long the request line and the header of a request are.
func headerBytes(r *http.Request) int {
	const separators = len(": ") + len("\r\n")
	bytes := len(r.Method) + len(r.RequestURI) + len(r.Proto) + len("Host") + len(r.Host) + 2*separators
	for name, values := range r.Header {
		for _, value := range values {
			bytes += len(name) + len(value) + separators
		}
	}
	return bytes
}

func headerTooLongBody() []byte {
	return []byte(`{"status":"error","code":"request_failed",` +
		`"message":"the header of the request is longer than 65536 bytes: send fewer or shorter header fields, or a shorter URL"}`)
}

func tooManyConnectionsBody() []byte {
	return []byte(`{"status":"error","code":"too_many_connections",` +
		`"message":"all connections of this server are busy; try again in a moment, or raise connections of HARNESS_LIMITS"}`)
}

// timedBody lifts the deadline when the body is there: the handler may take longer. What a handler leaves unread,
// net/http throws away within the same deadline.
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
