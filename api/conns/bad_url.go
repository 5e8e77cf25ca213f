package conns

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"harness/api/rest"
)

// rememberedHead limits the stored part of a request, in bytes. A longer request line gets net/http's own response.
const rememberedHead = 2048

// requestHead is the data that a peer sent before a handler started. net/http refuses a URL with a broken percent
// escape in plain text before any handler runs. Only the connection can replace that response with one in the API's
// format.
type requestHead struct {
	mu       sync.Mutex
	sent     []byte
	answered bool // by a handler, until the next request
}

// read stores what the peer sent, up to the end of the request line.
func (h *requestHead) read(p []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered || bytes.IndexByte(h.sent, '\n') >= 0 {
		return
	}
	if end := bytes.IndexByte(p, '\n'); end >= 0 {
		p = p[:end+1]
	}
	h.sent = append(h.sent, p[:min(len(p), rememberedHead-len(h.sent))]...)
}

// begin notes that a handler serves the request. end notes that the connection waits for the next one.
func (h *requestHead) begin() { h.set(true) }
func (h *requestHead) end()   { h.set(false) }

func (h *requestHead) set(answered bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sent, h.answered = nil, answered
}

// refusal reports whether a handler sends the response that is about to be sent. If net/http does, a body that is not
// nil replaces it.
func (h *requestHead) refusal() (answered bool, instead []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.answered {
		return true, nil
	}
	uri, broken := brokenURI(h.sent)
	if !broken {
		return false, nil
	}
	body := rest.BadURLBody(uri)
	return false, fmt.Appendf(nil,
		"HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		http.StatusBadRequest, http.StatusText(http.StatusBadRequest), len(body), body)
}

// brokenURI returns the target of a request line whose path has a broken escape.
func brokenURI(head []byte) (string, bool) {
	line, _, whole := bytes.Cut(head, []byte("\r\n"))
	parts := strings.Split(string(line), " ")
	if !whole || len(parts) != 3 || !strings.HasPrefix(parts[1], "/") {
		return "", false
	}
	path, _, _ := strings.Cut(parts[1], "?")
	_, valid := rest.DecodePath(path)
	return parts[1], !valid
}
