package transcripts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// Any client text in any place of a stored request gets the same response on both engines, and never a server error.
// Postgres accepts no index row above 2704 bytes, and no NUL.
func TestNoTextOfAClientIsTooMuchForAStore(t *testing.T) {
	t.Parallel()
	answers := map[database.Engine]map[string]int{}
	for _, engine := range dbtest.Engines() {
		server := programtest.New(t, programtest.WithEngine(engine)).Start()
		answers[engine] = answersTo(server)
		server.Stop()
	}
	for _, field := range []string{"turnId", "messageId"} {
		if status := answers[database.Postgres]["5 /api/sessions/S/transcript/upsert ."+field+
			", of 30,000 characters"]; status != http.StatusBadRequest {
			t.Errorf("a long %s is answered with %d", field, status)
		}
	}
	for request, status := range answers[database.SQLite] {
		if on := answers[database.Postgres][request]; on != status {
			t.Errorf("%s: %d on SQLite, %d on Postgres", request, status, on)
		}
		if status >= http.StatusInternalServerError {
			t.Errorf("%s: %d", request, status)
		}
	}
}

// answersTo sends every request that stores or searches a client's text, with each text in each of its places, and
// returns the response statuses.
func answersTo(server *programtest.Server) map[string]int {
	server.T.Helper()
	session := server.CreateSession(programtest.Object{})
	project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "first"}), "project",
		"projectId")
	entry := programtest.Object{"messageId": "m", "turnId": "t", "role": "user", "type": "message", "content": "c", "details": "d",
		"status": "complete"}
	suggestion := programtest.Object{"requestKey": "k", "status": "complete", "suggestion": "s", "error": "e"}
	one := "/api/sessions/" + session
	requests := []struct {
		path string
		body programtest.Object
	}{
		{"/api/projects", programtest.Object{"name": "n", "workingDirectory": "/"}},
		{"/api/projects/" + project + "/rename", programtest.Object{"name": "n", "workingDirectory": "/"}},
		{"/api/projects/" + project + "/chats/move-all", programtest.Object{"destination": "unassigned", "sourceSessionId": "s"}},
		{one + "/rename", programtest.Object{"title": "t"}},
		{one + "/project", programtest.Object{"projectId": "p"}},
		{one + "/transcript/upsert", entry},
		{one + "/transcript/upserts", programtest.Object{"entries": []any{entry}}},
		{one + "/suggested-request/upsert", suggestion},
		{one + "/suggested-request/jobs", programtest.Object{"draft": "d", "model": "m"}},
		{one + "/settings", programtest.Object{"scope": "session", "key": "k", "value": "v", "actor": "a", "source": "s"}},
		{one + "/settings", programtest.Object{"scope": "default", "key": "k", "value": "v"}},
		{one + "/settings", programtest.Object{"scope": "session", "settings": programtest.Object{"k": "v"}}},
		{one + "/session-controls",
			programtest.Object{"scope": "session", "actor": "a", "source": "s", "controls": programtest.Object{"model": "m", "approvalPolicy": "never",
				"networkAccess": "restricted", "filesystemSandbox": "read-only", "settings": programtest.Object{"k": "v"}}}},
		{one + "/interrupt", programtest.Object{"turnId": "t"}},
		{"/api/approvals/unknown/decision", programtest.Object{"decision": "accept", "message": "m"}},
		{"/api/tool-input/unknown/decision", programtest.Object{"decision": "accept"}},
	}
	answers := map[string]int{}
	texts := textsOfClients()
	for _, kind := range slices.Sorted(maps.Keys(texts)) { // in the same order on both engines
		for i, r := range requests {
			bodies := placed(r.body, texts[kind])
			for _, place := range slices.Sorted(maps.Keys(bodies)) {
				status, _, err := server.Try(http.MethodPost, r.path, bodies[place])
				if err != nil {
					server.T.Fatalf("%s %s %s: %v", r.path, place, kind, err)
				}
				route := strings.NewReplacer(session, "S", project, "P").Replace(r.path)
				answers[fmt.Sprintf("%d %s %s, %s", i, route, place, kind)] = status
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(texts)) {
		for i, path := range []string{
			"/api/sessions?q=", "/api/sessions?cursor=", one + "?before=", one + "?after=", one + "/settings?key=",
			"/api/sessions/", "/api/orchestrator/jobs/", "/api/projects/p/orchestrator/jobs?state=", "/api/sessions?projectId=",
			one + "/approvals?cursor=",
		} {
			status, _, err := server.Try(http.MethodGet, path+url.PathEscape(texts[kind]), nil)
			if err != nil {
				server.T.Fatalf("%s %s: %v", path, kind, err)
			}
			answers[fmt.Sprintf("GET %d %s, %s", i, strings.ReplaceAll(path, session, "S"), kind)] = status
		}
	}
	return answers
}

// textsOfClients returns texts that a store may refuse. Long ones are random, because Postgres compresses all others.
func textsOfClients() map[string]string {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // no secret
	long := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteRune(rune(0x4e00 + random.IntN(0x5000)))
		}
		return b.String()
	}
	return map[string]string{
		"of 512 characters": long(512), "of 30,000 characters": long(30_000), "with controls": "a\x00b\x01c\u0085",
		"of 512 controls": strings.Repeat("\x01", 512),
	}
}

// placed returns the body with the value in each place of a text, and as each name of a free-form object.
func placed(body any, value string) map[string]any {
	found := map[string]any{}
	switch body := body.(type) {
	case string:
		found[""] = value
	case programtest.Object:
		for name, member := range body {
			for place, inner := range placed(member, value) {
				changed := programtest.Object{}
				for other, kept := range body {
					changed[other] = kept
				}
				changed[name] = inner
				found["."+name+place] = changed
			}
			if name == "k" {
				found[".*"] = programtest.Object{value: member}
			}
		}
	case []any:
		for place, inner := range placed(body[0], value) {
			found["[0]"+place] = []any{inner}
		}
	}
	return found
}
