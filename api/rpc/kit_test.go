package rpc_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"harness/transcript"
)

// upsert stores an entry of a session.
func (b *bench) upsert(session string, n int) {
	entry := transcript.Entry{MessageID: fmt.Sprintf("entry-%d", n), TurnID: "turn", Role: "user", Type: "note",
		Content: "c", Status: transcript.Complete}
	if _, err := b.UpsertTranscripts(b.t.Context(), session, []transcript.Entry{entry}); err != nil {
		b.t.Fatal(err)
	}
}

func readAll(t *testing.T, response *http.Response) string {
	t.Helper()
	raw, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return string(raw)
}

// notes collects notifications.
type notes struct {
	mu   sync.Mutex
	seen []string
	news chan struct{}
}

func (n *notes) Handle(_ context.Context, _ *jsonrpc2.Conn, r *jsonrpc2.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.seen = append(n.seen, r.Method)
	select {
	case n.news <- struct{}{}:
	default:
	}
}

func (n *notes) await(t *testing.T, method string) {
	t.Helper()
	deadline := time.After(patience)
	for {
		n.mu.Lock()
		found := strings.Contains(strings.Join(n.seen, " ")+" ", method+" ")
		n.mu.Unlock()
		if found {
			return
		}
		select {
		case <-n.news:
		case <-deadline:
			t.Fatalf("never notified of %s", method)
		}
	}
}
