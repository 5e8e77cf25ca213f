package nodes

import (
	"context"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"harness/tests/programtest"
)

// forwardLimit is the maximum additional median cost of a request through another node, on a busy machine. A new
// connection for each request costs more.
const forwardLimit = 10 * time.Millisecond

// Forwarding a request to the owner costs one round trip on a kept connection.
func TestWhatAskingTheOwnerCosts(t *testing.T) {
	n := newNodes(t, withPort())
	path := "/api/sessions/" + n.a.CreateSession(nil) + "/interrupt"
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ask := func(node *programtest.Server) time.Duration {
		ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
		defer cancel()
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, node.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, answer.Body)
		if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusConflict { // no turn runs
			t.Fatal(answer.Status, err)
		}
		return time.Since(began)
	}
	const rounds = 400
	var own, other []time.Duration
	for range rounds {
		own, other = append(own, ask(n.a)), append(other, ask(n.b))
	}
	slices.Sort(own)
	slices.Sort(other)
	t.Logf("asked of the owner p50 %v p99 %v, of the other node p50 %v p99 %v",
		own[rounds/2], own[rounds*99/100], other[rounds/2], other[rounds*99/100])
	if more := other[rounds/2] - own[rounds/2]; more > forwardLimit {
		t.Errorf("the other node costs %v more, want %v at most", more, forwardLimit)
	}
}
