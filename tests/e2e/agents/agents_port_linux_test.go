package agents

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/codextest"
	"harness/tests/programtest"
)

// place is how a program within a session reaches the server: the four variables in its environment.
type place struct{ url, bearer string }

// placeOf asks an agent for its commands' environment. codex-manager's command line uses the same variables.
func placeOf(i *programtest.Server, session string) place {
	i.T.Helper()
	file := "environment-" + session
	i.Send(session, "MOCK_CMD[echo $HARNESS_URL $HARNESS_SESSION_TOKEN $CODEX_MANAGER_API_BASE $CODEX_MANAGER_BEARER_TOKEN > "+file+"]")
	var text []byte
	i.Eventually("the command has run", func() bool {
		for _, approval := range i.Approvals(session) {
			i.Decide(programtest.Text(approval, "approvalId"))
		}
		text, _ = os.ReadFile(filepath.Join(i.Workspace, file))
		return strings.HasSuffix(string(text), "\n")
	})
	words := strings.Fields(string(text))
	if len(words) != 4 || words[0] != words[2] || words[1] != words[3] {
		i.T.Fatalf("a command has %q in its environment", text)
	}
	return place{words[0], words[1]}
}

// ask sends a request to the port, with a bearer unless it is "".
func (p place) ask(t *testing.T, path, bearer string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// Agents have a separate port, which refuses every request without the bearer of a session of this server, even for
// pages and probes. A bearer gives the rights of that session's agent. The port and the bearers survive kill -9. If
// the port is in use when the server restarts, agents start with another one.
func TestAgentsHaveAPortOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, version := range map[string]codextest.Version{"newest": codextest.Default, "oldest": codextest.Oldest} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := programtest.WithClaude(t, programtest.WithCodex(version))
			server := s.Start()
			server.WaitRuntime()
			ofCodex := programtest.Object{"approvalPolicy": "never", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled",
				"cwd": s.Workspace}
			one := placeOf(server, server.CreateSession(ofCodex))
			claude := server.CreateSession(programtest.Object{"runtime": "claude", "approvalPolicy": "on-request",
				"filesystemSandbox": "danger-full-access", "networkAccess": "enabled", "cwd": s.Workspace})
			two := placeOf(server, claude)
			if one.url != two.url || one.bearer == two.bearer {
				t.Errorf("two sessions have the same bearer, or two ports: %+v %+v", one, two)
			}
			host, _, err := net.SplitHostPort(strings.TrimPrefix(one.url, "http://"))
			if err != nil || host != "127.0.0.1" || one.url == server.URL {
				t.Errorf("agents reach %s, %v; people reach %s", one.url, err, server.URL)
			}
			for _, path := range []string{"/", "/healthz", "/api/health", "/api/docs", "/api/login", "/api/sessions", "/mcp", "/decide/x"} {
				if status := one.ask(t, path, ""); status != http.StatusUnauthorized {
					t.Errorf("%s without a bearer: %d", path, status)
				}
			}
			if !server.Logged("refused a request at the port for agents", `"path":"/api/sessions"`) {
				t.Error("the log does not name the attempt")
			}
			refused := func(what, bearer string) {
				if status := one.ask(t, "/api/sessions", bearer); status != http.StatusForbidden {
					t.Errorf("%s lists the sessions: %d", what, status)
				}
			}
			refused("an agent", one.bearer)
			refused("the other agent", two.bearer)
			if status := one.ask(t, "/api/health", one.bearer); status != http.StatusOK {
				t.Errorf("an agent asks for the health: %d", status)
			}
			forged := one.bearer[:len(one.bearer)-2] + "AA"
			if status := one.ask(t, "/api/health", forged); status != http.StatusUnauthorized {
				t.Errorf("a forged bearer: %d", status)
			}

			server.Kill()
			server = s.Start()
			server.WaitRuntime()
			refused("the agent of before the crash", one.bearer)
			server.Stop()

			address := strings.TrimPrefix(one.url, "http://")
			taken, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = taken.Close() }()
			server = s.Start()
			server.WaitRuntime()
			if moved := placeOf(server, server.CreateSession(ofCodex)); moved.url == one.url ||
				moved.ask(t, "/api/health", moved.bearer) != http.StatusOK {
				t.Errorf("the port is in use, and agents reach %s", moved.url)
			}
			if !server.Logged("the port that agents know is in use") {
				t.Error("the log does not say that the port is in use")
			}
			server.Stop()
		})
	}
}
