package agents

import (
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// Clients that cannot choose levels can use agents of the Agent Client Protocol, a supported one and a custom one.
// The refusal names the settings. With these settings, a whole turn with an approval runs.
func TestClientsThatNameNoLevel(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("DEFAULT_APPROVAL_POLICY=never"))
	s.Env = append(s.Env, "PATH="+bridges(t)+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"HARNESS_RUNTIMES=codex,claude-acp,acp:own", "CLAUDE_CODE_EXECUTABLE="+agenttest.Binary(t, "claude"),
		`HARNESS_ACP_AGENTS={"own":{"command":["claude-agent-acp"],"families":["claude"]}}`,
		"ANTHROPIC_API_KEY="+programtest.ClaudeKey, "ANTHROPIC_BASE_URL="+s.Model.Root())
	server := s.Start("DEFAULT_SANDBOX_MODE=read-only", "DEFAULT_NETWORK_ACCESS=restricted")
	levels := programtest.Object{"approvalPolicy": "on-request", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"}
	settings := []string{"DEFAULT_NETWORK_ACCESS=enabled",
		"HARNESS_RUNTIME_SANDBOX=claude-acp=danger-full-access,acp=danger-full-access",
		"HARNESS_RUNTIME_APPROVAL=claude-acp=on-request,acp=on-request"}
	runtimes := []string{"claude-acp", "acp:own"}
	for _, name := range runtimes {
		for field, setting := range map[string]string{"approvalPolicy": "HARNESS_RUNTIME_APPROVAL or DEFAULT_APPROVAL_POLICY",
			"filesystemSandbox": "HARNESS_RUNTIME_SANDBOX or DEFAULT_SANDBOX_MODE"} {
			body := maps.Clone(levels)
			delete(body, field)
			body["runtime"] = name
			refused := server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions", body)
			if !strings.Contains(programtest.Text(refused, "message"), "or set "+setting+" for who names none") {
				t.Errorf("%s without %s is refused with %v", name, field, refused)
			}
		}
		body := maps.Clone(levels)
		delete(body, "networkAccess") // full access includes it
		body["runtime"] = name
		server.CreateSession(body)
	}
	server.Stop()

	server = s.Start(settings...)
	events := server.Follow("after=0")
	for _, name := range runtimes {
		listed := programtest.Text(server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/"+name, nil), "status")
		if want := map[string]string{"claude-acp": "active", "acp:own": "preview"}[name]; listed != want {
			t.Errorf("%s is listed as %q", name, listed)
		}
		session, file := server.CreateSession(programtest.Object{"runtime": name}), filepath.Join(s.Workspace, name)
		turn := server.Send(session, "MOCK_CMD[touch "+file+"]")
		asked := approvalOf(events, session, 0)
		if _, err := os.Stat(file); err == nil {
			t.Errorf("%s: the command ran before it was allowed", name)
		}
		server.Decide(programtest.Text(asked, "approvalId"))
		if status := events.FindTurn(turn); status != "completed" {
			t.Errorf("%s: its turn ended %s", name, status)
		}
		if _, err := os.Stat(file); err != nil {
			t.Error(err)
		}
	}
}
