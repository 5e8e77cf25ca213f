package agents

import (
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// RA-18: requests of real agents in a session without a person are declined immediately, none of them takes effect,
// and the turn runs to its end.
func TestNothingWaitsWithoutAPerson(t *testing.T) {
	t.Parallel()
	t.Run("of codex and Claude Code", func(t *testing.T) {
		t.Parallel()
		server := programtest.WithClaude(t).Start()
		withoutAPerson(server, "codex", "approval", "MOCK_CMD[touch $1]")
		withoutAPerson(server, "codex", "tool_user_input", "MOCK_ASK")
		withoutAPerson(server, "claude", "approval", "MOCK_CMD[touch $1]")
		withoutAPerson(server, "claude", "tool_user_input", "MOCK_ASK")
	})
	t.Run("of OpenCode", func(t *testing.T) {
		t.Parallel()
		server := programtest.WithOpenCode(t).Start()
		withoutAPerson(server, "opencode", "approval", "MOCK_CMD[touch $1]")
		withoutAPerson(server, "opencode", "tool_user_input", "MOCK_ASK")
	})
	t.Run("of Gemini", func(t *testing.T) {
		t.Parallel()
		s := programtest.New(t)
		s.Env = append(s.Env, "HARNESS_RUNTIMES=codex,gemini", "GEMINI_BIN="+agenttest.Binary(t, "gemini"),
			"GEMINI_API_KEY=key-of-gemini", "GOOGLE_GEMINI_BASE_URL="+s.Model.Root(), programtest.StartTimeout)
		withoutAPerson(s.Start(), "gemini", "approval", "MOCK_CMD[touch $1]")
	})
}

// withoutAPerson makes an agent request approval in a session without a person. $1 is a file that must not be
// created.
func withoutAPerson(server *programtest.Server, runtime, kind, message string) {
	server.T.Helper()
	server.AwaitRuntime()
	unmade := filepath.Join(server.T.TempDir(), "made")
	session := server.CreateSession(programtest.Object{"runtime": runtime, "approvalPolicy": "untrusted",
		"filesystemSandbox": "danger-full-access", "networkAccess": "enabled", "nonInteractive": true})
	events := server.Follow("threadId=" + session)
	turn := server.Send(session, os.Expand(message, func(string) string { return unmade }))
	resolved := events.WaitType(kind + "_resolved").Decoded()
	if resolved["decidedBy"] != "mode:nonInteractive" {
		server.T.Errorf("%s: resolved %v", runtime, resolved)
	}
	events.WaitTurn(turn)
	if _, err := os.Lstat(unmade); err == nil {
		server.T.Errorf("%s ran the command", runtime)
	}
	shown := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if programtest.Text(shown, "session", "pendingCount") != "0" ||
		programtest.Text(shown, "session", "sessionControls", "nonInteractive") != "true" {
		server.T.Errorf("%s: %v", runtime, shown["session"])
	}
}
