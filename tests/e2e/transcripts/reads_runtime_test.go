package transcripts

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/api"
	"harness/tests/programtest"
)

// offers are the reads about the runtime's features or configuration. The runtime answers them, and none of that data
// is stored. All other reads return stored data.
var offers = []string{
	"/api/account", "/api/account/rate-limits", "/api/apps", "/api/capabilities", "/api/collaboration/modes",
	"/api/config", "/api/config/requirements", "/api/features/experimental", "/api/mcp/servers", "/api/models",
	"/api/skills", "/api/skills/remote",
}

// No read queries the runtime for stored data, not even the first read of an imported conversation or of a fork. The
// server imports their histories without a read. It queries the runtime only for optional features.
func TestReadsDoNotAskTheRuntime(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("HARNESS_DETACH_GRACE_MS=0"))
	s.RecordCalls()
	first := s.Start()
	old := first.CreateSession(nil)
	events := first.Follow("threadId=" + old)
	events.WaitTurn(first.Send(old, "Reply with exactly OLD"))
	first.Stop()

	server := s.Start("DATA_DIR=" + filepath.Join(t.TempDir(), "data"))
	server.WaitRuntime() // until then it does not know conversations from elsewhere
	askedFor := func(id string) func() bool {
		return func() bool {
			return slices.ContainsFunc(s.Calls(id), func(line string) bool {
				return strings.Contains(line, "thread/turns/list") || strings.Contains(line, `"includeTurns":true`)
			})
		}
	}
	server.Eventually("the history from elsewhere is asked for", askedFor(old))
	fork := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+old+"/fork", nil), "session", "sessionId")
	server.Eventually("the fork's history is asked for", askedFor(fork))
	project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
		"projectId")

	for _, id := range []string{old, fork} {
		answer := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+id, nil)
		if got := programtest.Encoded(t, answer["transcript"]); !strings.Contains(got, "OLD") || answer["historyPending"] != nil {
			t.Errorf("the first read shows %s, pending: %v", got, answer["historyPending"])
		}
	}
	// asked returns the requests that one read sends to the runtime. The runtime gets requests in order, so all have
	// arrived when it has a later one.
	markers := 0
	asked := func(path string) []string {
		t.Helper()
		before := len(s.Calls(""))
		server.Ask(http.MethodGet, path, nil)
		markers++
		marker := fmt.Sprintf("marker-%d", markers)
		server.Ask(http.MethodGet, "/api/models?cursor="+marker, nil)
		var after []string
		server.Eventually("the marker has arrived", func() bool {
			after = s.Calls("")[before:]
			return len(after) > 0 && strings.Contains(after[len(after)-1], marker)
		})
		return after[:len(after)-1]
	}
	for range 2 { // earlier background requests are not caused by a read
		asked("/api/health")
	}
	seen := 0
	for _, operation := range api.Operations() {
		if operation.Method != http.MethodGet || operation.Path == "/agui/{sessionId}" { // that answer does not end
			continue
		}
		offer := slices.Contains(offers, operation.Path)
		for _, id := range []string{old, fork} {
			path := strings.NewReplacer("{sessionId}", id, "{projectId}", project, "{jobId}", "none").Replace(operation.Path)
			if path == "/api/capabilities" {
				path += "?refresh=true"
			}
			calls := asked(path)
			if (len(calls) > 0) != offer {
				t.Errorf("GET %s (offer: %t) asked the runtime:\n%s", path, offer, strings.Join(calls, ""))
			}
		}
		seen++
	}
	if seen < 25 {
		t.Errorf("only %d reads were tried", seen)
	}
	for _, query := range []string{"?limit=1", "?limit=1&q=OLD"} {
		if calls := asked("/api/sessions" + query); len(calls) > 0 {
			t.Errorf("GET /api/sessions%s asked the runtime: %s", query, calls)
		}
	}
	if calls := asked("/api/sessions/" + old + "?limit=1"); len(calls) > 0 {
		t.Errorf("reading a window asked the runtime: %s", calls)
	}
	server.Stop()
}
