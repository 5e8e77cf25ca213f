package forward

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The events of a stream at the owner reach the client at once, and other answers when they are whole.
func TestEventsAreRelayedAtOnce(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]bool{"text/event-stream": true, "application/json": false} {
		answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {kind}},
			Body: io.NopCloser(strings.NewReader("data: 1\n\n"))}
		w := httptest.NewRecorder()
		if err := relayed(w, answer); err != nil || w.Body.String() != "data: 1\n\n" || w.Flushed != want {
			t.Errorf("%s: %v, %q, flushed %v", kind, err, w.Body, w.Flushed)
		}
	}
}
