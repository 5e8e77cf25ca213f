package api

import (
	"harness/api/rest"
	"net/http"
	"time"
)

// startupPatience is how long a request waits for a server that starts: most start within it, and nobody notices.
const startupPatience = 5 * time.Second

// StartupGate is the handler of a server that starts: requests wait for it to open, not longer than 5 s; then they get
// 503 with Retry-After. Readiness is answered at once, and so is that the process lives. Open it once.
type StartupGate struct {
	opened  chan struct{}
	handler http.Handler
}

// NewStartupGate makes a closed gate.
func NewStartupGate() *StartupGate { return &StartupGate{opened: make(chan struct{})} }

// Open lets all requests through to the handler, those that wait and those to come.
func (g *StartupGate) Open(handler http.Handler) {
	g.handler = handler
	close(g.opened)
}

// ServeHTTP implements http.Handler.
func (g *StartupGate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if g.isOpen() {
		g.handler.ServeHTTP(w, r)
		return
	}
	switch r.URL.Path {
	case "/healthz":
		rest.WriteRaw(w, http.StatusOK, rest.JSONType, []byte(aliveBody))
		return
	case "/api/ready", "/readyz":
	default:
		if g.wait(r) {
			g.handler.ServeHTTP(w, r)
			return
		}
	}
	w.Header().Set("Retry-After", "1")
	rest.WriteRaw(w, http.StatusServiceUnavailable, rest.JSONType, startingBody())
}

func (g *StartupGate) isOpen() bool {
	select {
	case <-g.opened:
		return true
	default:
		return false
	}
}

func (g *StartupGate) wait(r *http.Request) (opened bool) {
	select {
	case <-g.opened:
		return true
	case <-time.After(startupPatience):
	case <-r.Context().Done():
	}
	return g.isOpen()
}

func startingBody() []byte {
	return []byte(`{"status":"error","code":"starting","message":"the server is starting; try again in a moment"}`)
}
