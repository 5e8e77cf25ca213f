package conns

import (
	"net/http"
	"time"

	"harness/api/rest"
)

// AliveBody is the response of the liveness check, regardless of any other problem.
const AliveBody = `{"status":"alive"}`

// startupPatience is how long a request waits for a starting server. Most servers start within it, and clients do not
// notice.
const startupPatience = 5 * time.Second

// StartupGate is the handler of a starting server. Requests wait up to 5 s for it to open; then they get 503 with
// Retry-After. Readiness and liveness checks get an immediate response. Open it once.
type StartupGate struct {
	opened  chan struct{}
	handler http.Handler
}

// NewStartupGate creates a closed gate.
func NewStartupGate() *StartupGate { return &StartupGate{opened: make(chan struct{})} }

// Open passes all pending and future requests to the handler.
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
		rest.WriteRaw(w, http.StatusOK, rest.JSONType, []byte(AliveBody))
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
