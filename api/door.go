package api

import (
	"net/http"
	"time"
)

// doorPatience is how long a request waits for a server that starts: most start within it, and nobody notices.
const doorPatience = 5 * time.Second

// Door is the handler of a server that starts: requests wait for it to open, not longer than 5 s; then they get 503 with Retry-After.
// GET /api/ready is answered at once. Open it once.
type Door struct {
	opened  chan struct{}
	handler http.Handler
}

// NewDoor makes a closed door.
func NewDoor() *Door { return &Door{opened: make(chan struct{})} }

// Open lets all requests through to the handler, those that wait and those to come.
func (d *Door) Open(handler http.Handler) {
	d.handler = handler
	close(d.opened)
}

// ServeHTTP implements http.Handler.
func (d *Door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.isOpen() && (r.URL.Path == "/api/ready" || !d.wait(r)) {
		w.Header().Set("Retry-After", "1")
		writeRaw(w, http.StatusServiceUnavailable, jsonType, startingBody())
		return
	}
	d.handler.ServeHTTP(w, r)
}

func (d *Door) isOpen() bool {
	select {
	case <-d.opened:
		return true
	default:
		return false
	}
}

func (d *Door) wait(r *http.Request) (opened bool) {
	limit := time.NewTimer(doorPatience)
	defer limit.Stop()
	select {
	case <-d.opened:
		return true
	case <-limit.C:
	case <-r.Context().Done():
	}
	return d.isOpen()
}

func startingBody() []byte {
	return []byte(`{"status":"error","code":"starting","message":"the server is starting; try again in a moment"}`)
}
