// Package conns is where connections come in: it bounds how many there are and how long each may wait for its peer, and
// answers while the server starts.
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

// Options bound what peers can take of the HTTP server. Zero durations take the defaults named.
type Options struct {
	// MaxConnections bounds open connections that are no streams; 0 is no bound. At the bound the one that has waited
	// longest without a whole request gives way; when all of them are being answered the new one gets 503.
	MaxConnections int
	// HeaderTimeout is for a whole request header (5 s), BodyTimeout for a whole body (30 s), AnswerTimeout for the peer
	// to take the next 64 KiB of an answer (30 s), LongAnswerTimeout the same for an answer that has so many (10 s),
	// IdleTimeout for the next request to begin (2 min).
	HeaderTimeout, BodyTimeout, AnswerTimeout, LongAnswerTimeout, IdleTimeout time.Duration
	// BasePath may stand before the paths of the handler's routes.
	BasePath string
	Metrics  Metrics
	Logger   zerolog.Logger
}

// Metrics count what the limiter does. Every function may be nil; none may block.
type Metrics struct {
	// Connections gets +1 and -1 for connections that are no streams.
	Connections func(delta int)
	// Reaped gets each connection closed for what its peer left undone: header, body, answer, idle, or evicted at the
	// bound.
	Reaped func(reason string)
	// Refused gets each connection answered 503 at the bound.
	Refused func()
}

// maxHeaderBytes bounds a request header. net/http reads twice as much, so that most clients of longer ones get the bound.
const maxHeaderBytes = 64 << 10

// Limiter is where connections come in: it knows which of them wait for their peer, and for how long they may.
// net/http's own ReadTimeout and WriteTimeout are no use here: they count the handler's time too, and a turn may be
// waited for as long as it takes.
type Limiter struct {
	opts Options
	// recorded has a refusal recorded; nil while no handler knows the routes.
	recorded atomic.Pointer[func(refusal http.Handler) http.Handler]

	mu      sync.Mutex
	open    map[*Conn]struct{}
	waiting list.List // of *Conn without a whole request, the longest wait first
}

// NewLimiter makes a limiter for one server.
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

// Listener gives the limiter the connections of a listener. Serve it with Server's server.
func (l *Limiter) Listener(inner net.Listener) net.Listener { return limitedListener{inner, l} }

// Server is the HTTP server of a handler, bounded.
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

// Record has refusals of the limiter recorded as answers of the handler are.
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
		_ = evicted.Close()
	}
}

// CloseWaiting closes every connection on which no request has begun to be answered and no body is under way: nothing
// is lost with it.
func (l *Limiter) CloseWaiting() {
	l.mu.Lock()
	var waiting []*Conn
	for place := l.waiting.Front(); place != nil; place = place.Next() {
		if c, _ := place.Value.(*Conn); c.phase.Load() != phaseBody {
			waiting = append(waiting, c)
		}
	}
	l.mu.Unlock()
	for _, c := range waiting {
		_ = c.Close()
	}
}

// await notes that a connection waits for its peer, occupy that it has a request to answer.
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

// drop and leave want l.mu held.
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

// warnings takes net/http's own complaints into the log.
type warnings struct{ log zerolog.Logger }

// Write implements io.Writer.
func (w warnings) Write(line []byte) (int, error) {
	w.log.Warn().Str("cause", string(line)).Msg("HTTP server")
	return len(line), nil
}
