package agents

import (
	"net/http"
	"os"
	"testing"

	"harness/internal/programtest"
)

// RA-18: a question of the real codex, Claude Code and OpenCode in a session that asks nobody is refused at once, and
// the turn goes on to its end without a person.
func TestAQuestionWaitsForNobody(t *testing.T) {
	t.Parallel()
	t.Run("of codex and Claude Code", func(t *testing.T) {
		t.Parallel()
		s := programtest.WithClaude(t)
		if os.Geteuid() == 0 { // as root Claude Code does nothing unasked
			s.Become(programtest.Unprivileged)
			s.Own(s.Workspace)
		}
		questionsWaitForNobody(s.Start(), "codex", "claude")
	})
	t.Run("of OpenCode", func(t *testing.T) {
		t.Parallel()
		questionsWaitForNobody(programtest.WithOpenCode(t).Start(), "opencode")
	})
}

func questionsWaitForNobody(server *programtest.Server, runtimes ...string) {
	server.T.Helper()
	for _, runtime := range runtimes {
		session := server.CreateSession(programtest.Object{"runtime": runtime, "approvalPolicy": "never",
			"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_ASK")
		resolved := events.WaitType("tool_user_input_resolved").Decoded()
		if resolved["decision"] != "decline" || resolved["decidedBy"] != "policy:never" {
			server.T.Errorf("%s: resolved %v", runtime, resolved)
		}
		if status := events.WaitTurn(turn); status != "completed" {
			server.T.Errorf("the turn of %s ended %s", runtime, status)
		}
		shown := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
		if programtest.Text(shown, "session", "pendingCount") != "0" {
			server.T.Errorf("%s: %v", runtime, shown["session"])
		}
	}
	server.Stop()
}
