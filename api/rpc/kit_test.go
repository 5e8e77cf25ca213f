package rpc_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

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
