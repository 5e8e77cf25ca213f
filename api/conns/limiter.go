// Package conns accepts connections. It limits their number and how long each may wait for its peer. It also responds
// while the server starts.
//
// It owns the deadlines of connections. It must never know what a route does.
package conns

import (
	"container/list"
	"context"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
)

// Options limit the resources of the HTTP server that peers can use. Zero durations mean the defaults given below.
type Options struct {
	// MaxConnections limits open connections that are not streams; 0 means no limit. At the limit, the connection
	// that has waited longest without a whole request is closed. If all are being served, the new one gets 503.
	MaxConnections int
	// HeaderTimeout limits the time for a whole request header (5 s) and BodyTimeout the time for a whole body (30 s).
	// AnswerTimeout limits the time for the peer to read the next 64 KiB of a response (30 s). LongAnswerTimeout
	// replaces AnswerTimeout for longer responses (10 s). IdleTimeout limits the wait for the next request (2 min).
	HeaderTimeout, BodyTimeout, AnswerTimeout, LongAnswerTimeout, IdleTimeout time.Duration
	// BasePath may precede the paths of the handler's routes.
	BasePath string
	Metrics  Metrics
	Logger   zerolog.Logger
}

// Metrics count the limiter's actions. Every function may be nil; none may block.
type Metrics struct {
	// Connections gets +1 and -1 for connections that are not streams.
	Connections func(delta int)
	// Reaped counts each connection closed for an incomplete exchange. The reason is header, body, answer or idle, or
	// evicted when the limit is reached.
	Reaped func(reason string)
	// Refused counts each connection that gets 503 at the limit.
	Refused func()
}

// maxHeaderBytes limits a request header. net/http reads twice as much, so that most clients with longer ones see the
// limit in the response.
const maxHeaderBytes = 64 << 10

// Limiter accepts connections. It tracks which connections wait for their peer, and for how long they may. net/http's
// own ReadTimeout and WriteTimeout do not work here: they include the handler's time, and a client may wait for a
// turn of any length.
type Limiter struct {
	opts Options
	// recorded records a refusal; nil until a handler knows the routes.
	recorded atomic.Pointer[func(refusal http.Handler) http.Handler]
	stopping atomic.Bool

	mu      sync.Mutex
	open    map[*Conn]struct{}
	waiting list.List // *Conn without a whole request, longest wait first
}

// NewLimiter creates a limiter for one server.
func NewLimiter(o Options) *Limiter {
	for _, bound := range []struct {
		field    *time.Duration
		fallback time.Duration
	}{
		{&o.HeaderTimeout, 5 * time.Second}, {&o.BodyTimeout, 30 * time.Second},
		{&o.AnswerTimeout, 30 * time.Second}, {&o.LongAnswerTimeout, 10 * time.Second}, {&o.IdleTimeout, 2 * time.Minute},
	} {
		if *bound.field <= 0 {
			*bound.field = bound.fallback
		}
	}
	if o.Metrics.Connections == nil {
		o.Metrics.Connections = func(int) {}
	}
	if o.Metrics.Reaped == nil {
		o.Metrics.Reaped = func(string) {}
	}
	if o.Metrics.Refused == nil {
		o.Metrics.Refused = func() {}
	}
	return &Limiter{opts: o, open: map[*Conn]struct{}{}}
}

// Listener wraps a listener so that the limiter tracks its connections. Serve it with Server's server.
func (l *Limiter) Listener(inner net.Listener) net.Listener { return limitedListener{inner, l} }

// Server returns the limited HTTP server of a handler.
func (l *Limiter) Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: l.bound(handler), ReadHeaderTimeout: l.opts.HeaderTimeout, IdleTimeout: l.opts.IdleTimeout,
		MaxHeaderBytes: 2 * maxHeaderBytes, ConnState: l.observe,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, limitedKey{}, limitedOf(conn))
		},
		ErrorLog: log.New(warnings{l.opts.Logger}, "", 0),
	}
}

// Record makes the limiter record its refusals like a handler's responses.
func (l *Limiter) Record(by func(refusal http.Handler) http.Handler) { l.recorded.Store(&by) }

type limitedKey struct{}

// observe is http.Server's ConnState hook. For a new connection it runs in the accept loop.
func (l *Limiter) observe(conn net.Conn, state http.ConnState) {
	c := limitedOf(conn)
	if c == nil {
		return
	}
	switch state {
	case http.StateNew:
		l.admit(c)
	case http.StateActive:
		l.occupy(c)
	case http.StateIdle:
		c.head.end()
		c.unread.Store(false) // net/http read the rest
		l.await(c, phaseIdle)
	case http.StateHijacked, http.StateClosed:
		l.forget(c)
	}
}

func (l *Limiter) admit(c *Conn) {
	l.mu.Lock()
	l.open[c] = struct{}{}
	var evicted *Conn
	if l.opts.MaxConnections > 0 && len(l.open) > l.opts.MaxConnections {
		if longest := l.waiting.Front(); longest != nil {
			evicted, _ = longest.Value.(*Conn)
			l.drop(evicted)
		} else {
			c.refused.Store(true)
		}
	}
	c.phase.Store(phaseHeader)
	c.place = l.waiting.PushBack(c)
	l.mu.Unlock()
	l.opts.Metrics.Connections(1)
	if evicted != nil {
		l.opts.Metrics.Connections(-1)
		l.opts.Metrics.Reaped("evicted")
		_ = evicted.Conn.Close() // without lingering
	}
}

// CloseUnopened closes every connection that has no started response and no partial body, so that no data is lost.
// From then on no connection lingers.
func (l *Limiter) CloseUnopened() {
	l.stopping.Store(true)
	l.mu.Lock()
	var closed []*Conn
	for c := range l.open {
		if c.lingering.Load() || c.place != nil && c.phase.Load() != phaseBody {
			closed = append(closed, c)
		}
	}
	l.mu.Unlock()
	for _, c := range closed {
		_ = c.Conn.Close()
	}
}

// await notes that a connection waits for its peer. occupy notes that it serves a request.
func (l *Limiter) await(c *Conn, phase int32) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, still := l.open[c]; !still {
		return
	}
	c.phase.Store(phase)
	if c.place == nil {
		c.place = l.waiting.PushBack(c)
	}
}

func (l *Limiter) occupy(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.phase.Store(phaseBusy)
	l.leave(c)
}

func (l *Limiter) forget(c *Conn) {
	l.mu.Lock()
	_, still := l.open[c]
	l.drop(c)
	l.mu.Unlock()
	if still {
		l.opts.Metrics.Connections(-1)
	}
}

// drop and leave require l.mu.
func (l *Limiter) drop(c *Conn) {
	c.phase.Store(phaseBusy)
	l.leave(c)
	delete(l.open, c)
}

func (l *Limiter) leave(c *Conn) {
	if c.place != nil {
		l.waiting.Remove(c.place)
		c.place = nil
	}
}

// warnings sends net/http's own messages to the log.
type warnings struct{ log zerolog.Logger }

// Write implements io.Writer.
func (w warnings) Write(line []byte) (int, error) {
	w.log.Warn().Str("cause", string(line)).Msg("HTTP server")
	return len(line), nil
}
