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

// answerChunk is the part of a response that a peer must read within AnswerTimeout.
const answerChunk = 64 << 10

// The phases name what a connection waits for.
const (
	phaseHeader int32 = iota
	phaseBody
	phaseIdle
	phaseBusy // nothing: a handler is running
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

// Conn is a connection that detects when its peer is late, and extends its write time as the peer reads.
type Conn struct {
	net.Conn
	limiter   *Limiter
	head      requestHead
	deadlines deadlines
	phase     atomic.Int32
	refused   atomic.Bool // was accepted beyond the limit
	long      atomic.Bool // a long response is being sent
	unread    atomic.Bool // the request has its response, and the peer may still be sending it
	lingering atomic.Bool
	place     *list.Element // its place in the list of idle connections; limiter.mu guards it
}

// limitedOf unwraps a connection down to the limiter's own, nil if there is none.
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

// Of returns the connection of a request, nil without a limiter.
func Of(ctx context.Context) *Conn {
	c, _ := ctx.Value(limitedKey{}).(*Conn)
	return c
}

// Inner returns the connection without the limiter's wrapper, for a handler that takes it over.
func Inner(conn net.Conn) net.Conn {
	if limited := limitedOf(conn); limited != nil {
		return limited.Conn
	}
	return conn
}

// Writes notes the size of a response that is written in one call. A long response has less time for each part.
func (c *Conn) Writes(bytes int) {
	if c != nil && bytes >= answerChunk {
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

// late counts a timeout once. net/http also sets deadlines to interrupt a read, but never while the server waits for
// the peer.
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

// Write implements net.Conn. It replaces net/http's response to an unreadable URL with the API's format.
func (c *Conn) Write(p []byte) (written int, err error) {
	answered, refusal := c.head.refusal()
	if !answered { // net/http refuses the request, and closes
		c.unread.Store(true)
	}
	if refusal == nil {
		return c.send(p)
	}
	if _, err := c.send(refusal); err != nil {
		return 0, err
	}
	return len(p), nil
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
		n, err := c.Conn.Write(p[written:min(len(p), written+answerChunk)])
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

// Unwrap returns the connection itself, for a handler that takes it over from net/http.
func (c *Conn) Unwrap() net.Conn { return c.Conn }

// bound sets the timeout of request bodies and refuses connections beyond the limit.
func (l *Limiter) bound(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, known := r.Context().Value(limitedKey{}).(*Conn)
		if known && c != nil {
			c.head.begin()
			c.long.Store(false)
		}
		withBody := known && c != nil && r.Body != nil && r.Body != http.NoBody
		if headerBytes(r) > maxHeaderBytes { // net/http accepts slightly more
			w.Header().Set("Connection", "close")
			l.refuse(w, r, http.StatusRequestHeaderFieldsTooLarge, "request_failed", headerTooLongBody())
			if withBody {
				c.unread.Store(true)
			}
			return
		}
		switch {
		case !known || c == nil:
		case c.refused.Load():
			l.opts.Metrics.Refused()
			w.Header().Set("Connection", "close")
			w.Header().Set("Retry-After", "1")
			l.refuse(w, r, http.StatusServiceUnavailable, "too_many_connections", tooManyConnectionsBody())
			c.unread.Store(withBody)
			return
		case withBody:
			l.await(c, phaseBody)
			control := http.NewResponseController(w)
			if err := control.SetReadDeadline(time.Now().Add(l.opts.BodyTimeout)); err == nil {
				l.serveTimed(c, next, w, r, control)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// serveTimed serves a request whose body has a deadline.
func (l *Limiter) serveTimed(c *Conn, next http.Handler, w http.ResponseWriter, r *http.Request, control *http.ResponseController) {
	body := &timedBody{ReadCloser: r.Body, arrived: func() {
		// The connection may be closed; then there is no deadline to lift either.
		_ = control.SetReadDeadline(time.Time{})
		l.occupy(c)
	}}
	// net/http checks its own request for an unread body. Only then does it let the peer read the response before
	// the reset.
	timed := *r
	timed.Body = body
	next.ServeHTTP(w, &timed)
	c.unread.Store(!body.whole.Load())
}

// refuse responds in place of the handler, and records the refusal like a handler's response.
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

// headerBytes returns the length of the request line and the header.
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

// timedBody lifts the deadline after the body is read, because the handler may take longer. net/http discards the
// unread rest within the same deadline.
type timedBody struct {
	io.ReadCloser
	arrived func()
	whole   atomic.Bool
}

// Read implements io.Reader.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) && !b.whole.Swap(true) {
		b.arrived()
	}
	return n, err
}
