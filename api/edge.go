package api

import (
	"container/list"
	"context"
	"log"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/rs/zerolog"
)

// EdgeOptions bound what peers can take of the HTTP server. Zero durations take the defaults named.
type EdgeOptions struct {
	// MaxConnections bounds open connections that are no streams; 0 is no bound. At the bound the one that has waited longest without a
	// whole request gives way; when all of them are being answered the new one gets 503.
	MaxConnections int
	// HeaderTimeout is for a whole request header (5 s), BodyTimeout for a whole body (30 s), AnswerTimeout for the peer to take the next
	// 64 KiB of an answer (30 s), IdleTimeout for the next request to begin (2 min).
	HeaderTimeout, BodyTimeout, AnswerTimeout, IdleTimeout time.Duration
	Metrics                                                EdgeMetrics
	Logger                                                 zerolog.Logger
}

// EdgeMetrics are told what the edge does. Every function may be nil; none may block.
type EdgeMetrics struct {
	// Connections is told +1 and -1 of connections that are no streams.
	Connections func(delta int)
	// Reaped is told each connection closed for what its peer left undone: header, body, answer, idle, or evicted at the bound.
	Reaped func(reason string)
	// Refused is told each connection answered 503 at the bound.
	Refused func()
}

// maxHeaderBytes bounds a request header; net/http answers 431 beyond.
const maxHeaderBytes = 64 << 10

// Edge is where connections come in: it knows which of them wait for their peer, and for how long they may. net/http's own ReadTimeout and
// WriteTimeout are no use here: they count the handler's time too, and a turn may be waited for as long as it takes.
type Edge struct {
	opts EdgeOptions

	mu      sync.Mutex
	open    map[*edgeConn]struct{}
	waiting list.List // of *edgeConn without a whole request, the longest wait first
}

// NewEdge makes an edge for one server.
func NewEdge(o EdgeOptions) *Edge {
	for _, bound := range []struct {
		field    *time.Duration
		fallback time.Duration
	}{
		{&o.HeaderTimeout, 5 * time.Second}, {&o.BodyTimeout, 30 * time.Second},
		{&o.AnswerTimeout, 30 * time.Second}, {&o.IdleTimeout, 2 * time.Minute},
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
	return &Edge{opts: o, open: map[*edgeConn]struct{}{}}
}

// Listener gives the edge the connections of a listener, and Listener's answers to broken URLs. Serve it with Server's server.
func (e *Edge) Listener(inner net.Listener) net.Listener { return Listener(edgeListener{inner, e}) }

// Server is the HTTP server of a handler, bounded.
func (e *Edge) Server(handler http.Handler) *http.Server {
	return &http.Server{
		Handler: e.bound(handler), ReadHeaderTimeout: e.opts.HeaderTimeout, IdleTimeout: e.opts.IdleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ConnState: e.observe,
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, edgeKey{}, edgeOf(conn))
		},
		ErrorLog: log.New(warnings{e.opts.Logger}, "", 0),
	}
}

type edgeKey struct{}

// observe is http.Server's ConnState hook. For a new connection it runs in the accept loop.
func (e *Edge) observe(conn net.Conn, state http.ConnState) {
	c := edgeOf(conn)
	if c == nil {
		return
	}
	switch state {
	case http.StateNew:
		e.admit(c)
	case http.StateActive:
		e.occupy(c)
	case http.StateIdle:
		e.await(c, phaseIdle)
	case http.StateHijacked, http.StateClosed:
		e.forget(c)
	}
}

func (e *Edge) admit(c *edgeConn) {
	e.mu.Lock()
	e.open[c] = struct{}{}
	var evicted *edgeConn
	if e.opts.MaxConnections > 0 && len(e.open) > e.opts.MaxConnections {
		if longest := e.waiting.Front(); longest != nil {
			evicted, _ = longest.Value.(*edgeConn)
			e.drop(evicted)
		} else {
			c.refused.Store(true)
		}
	}
	c.phase.Store(phaseHeader)
	c.place = e.waiting.PushBack(c)
	e.mu.Unlock()
	e.opts.Metrics.Connections(1)
	if evicted != nil {
		e.opts.Metrics.Connections(-1)
		e.opts.Metrics.Reaped("evicted")
		_ = evicted.Close()
	}
}

// CloseWaiting closes every connection on which no request has begun to be answered and no body is under way: nothing is lost with it.
func (e *Edge) CloseWaiting() {
	e.mu.Lock()
	var waiting []*edgeConn
	for place := e.waiting.Front(); place != nil; place = place.Next() {
		if c, _ := place.Value.(*edgeConn); c.phase.Load() != phaseBody {
			waiting = append(waiting, c)
		}
	}
	e.mu.Unlock()
	for _, c := range waiting {
		_ = c.Close()
	}
}

// await notes that a connection waits for its peer, occupy that it has a request to answer.
func (e *Edge) await(c *edgeConn, phase int32) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, still := e.open[c]; !still {
		return
	}
	c.phase.Store(phase)
	if c.place == nil {
		c.place = e.waiting.PushBack(c)
	}
}

func (e *Edge) occupy(c *edgeConn) {
	e.mu.Lock()
	defer e.mu.Unlock()
	c.phase.Store(phaseBusy)
	e.leave(c)
}

func (e *Edge) forget(c *edgeConn) {
	e.mu.Lock()
	_, still := e.open[c]
	e.drop(c)
	e.mu.Unlock()
	if still {
		e.opts.Metrics.Connections(-1)
	}
}

// drop and leave want e.mu held.
func (e *Edge) drop(c *edgeConn) {
	c.phase.Store(phaseBusy)
	e.leave(c)
	delete(e.open, c)
}

func (e *Edge) leave(c *edgeConn) {
	if c.place != nil {
		e.waiting.Remove(c.place)
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
