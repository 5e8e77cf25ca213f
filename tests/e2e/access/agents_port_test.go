package access

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/api"
	"harness/internal/services/tools/mcphost"
	"harness/tests/programtest"
)

// On the port for agents, every operation requires the bearer of a session of this server. Even the owner's token
// does not work. A session's bearer gives access to what an agent may do there and nothing else. Without a job, that
// is only data about no user or session.
func TestEveryOperationAtThePortForAgents(t *testing.T) {
	t.Parallel()
	const owner = "the-owners-token-of-this-test"
	s, other := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+owner)), programtest.New(t)
	server, stranger := s.Start(), other.Start()
	server.AwaitRuntime()
	server.Headers = map[string]string{"Authorization": "Bearer " + owner}
	session := server.CreateSession(programtest.Object{})
	url, bearer := agentsPort(t, s, session)
	_, foreign := agentsPort(t, other, session)
	closed := map[string]map[string]string{
		"nothing": nil, "the owner's token": {"Authorization": "Bearer " + owner}, "the extensions' header": {"X-Harness-Token": bearer},
		"another server's bearer": {"Authorization": "Bearer " + foreign}, "another scheme": {"Authorization": "Basic " + bearer},
		"a cookie": {"Cookie": "harness_token=" + bearer},
	}
	agents := &programtest.Server{Site: s, URL: url}
	for _, operation := range api.Operations() {
		path := strings.NewReplacer("{sessionId}", session, "{", "", "}", "").Replace(operation.Path)
		for what, headers := range closed {
			if status, body := agents.Ask(operation.Method, path+"?access_token="+bearer, headers); status != http.StatusUnauthorized ||
				!strings.Contains(body, "HARNESS_SESSION_TOKEN") {
				t.Errorf("%s %s with %s: %d %s", operation.Method, path, what, status, body)
			}
		}
		status, body := agents.Ask(operation.Method, path, map[string]string{"Authorization": "Bearer " + bearer})
		if forbidden := status == http.StatusForbidden && strings.Contains(body, "agent_forbidden"); forbidden ==
			(operation.Agent == "always") {
			t.Errorf("%s %s with the session's bearer, to which it is open %q: %d %s", operation.Method, path, operation.Agent, status, body)
		}
	}
	for _, path := range []string{"/", "/login", "/mcp", "/decide/x", "/nothing"} {
		if status, body := agents.Ask(http.MethodGet, path, nil); status != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	server.Stop()
	stranger.Stop()
}

// agentsPort returns the port for agents of a site's server, and a session's bearer for it.
func agentsPort(t *testing.T, s *programtest.Site, session string) (url, bearer string) {
	t.Helper()
	port, err := os.ReadFile(filepath.Join(s.DataDir, "agents.port"))
	if err != nil {
		t.Fatal(err)
	}
	secret, err := os.ReadFile(filepath.Join(s.DataDir, "tools.key"))
	if err != nil {
		t.Fatal(err)
	}
	grants, err := mcphost.NewGrants(secret, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(string(port)), grants.Token(session)
}
