package agents

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/programtest"
)

// RA-15: what the real codex and Claude Code may read by themselves is the session's: a task after files were planted in
// its folder and the server was started anew reads the very files of the one before, and its model hears of no other.
func TestTwoRunsReadTheSameFiles(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	server := s.Start()
	server.WaitRuntime()
	sessions, before := map[string]string{}, map[string]string{}
	for runtime, implicit := range map[string]string{"codex": "home", "claude": "none"} {
		sessions[runtime] = server.CreateSession(programtest.Object{"runtime": runtime, "implicitSources": implicit,
			"approvalPolicy": "untrusted", "filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
		before[runtime] = sourcesOfTask(t, server, sessions[runtime], "one")
		if !strings.Contains(before[runtime], `"implicit":"`+implicit+`"`) {
			t.Errorf("%s: %s", runtime, before[runtime])
		}
	}
	for _, name := range []string{"AGENTS.md", "CLAUDE.md"} {
		if err := os.WriteFile(filepath.Join(s.Workspace, name), []byte("PLANTED words"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	server.Stop()
	server = s.Start()
	server.WaitRuntime()
	for runtime, session := range sessions {
		if now := sourcesOfTask(t, server, session, "two"); now != before[runtime] {
			t.Errorf("%s read\n%s, and then\n%s", runtime, before[runtime], now)
		}
		if asked := s.Model.Asked("MOCK_REPLY[two of " + session + "]"); asked == "" || strings.Contains(asked, "PLANTED") {
			t.Errorf("the model of %s was asked %.2000s", runtime, asked)
		}
	}
	server.Stop()
}

// sourcesOfTask has a task done and returns the artifact of what its agent reads by itself.
func sourcesOfTask(t *testing.T, server *programtest.Server, session, task string) (artifact string) {
	t.Helper()
	base := "/v1/sessions/" + session
	server.Want(http.StatusAccepted, http.MethodPost, base+"/tasks", programtest.Object{"task_id": task,
		"messages": []programtest.Object{{"role": "user", "content": "MOCK_REPLY[" + task + " of " + session + "]"}}})
	server.Eventually("the task is completed", func() bool {
		return server.Want(http.StatusOK, http.MethodGet, base+"/tasks/"+task, nil)["status"] == "completed"
	})
	for _, event := range server.Want(http.StatusOK, http.MethodGet, base+"/events", nil)["events"].([]any) {
		if programtest.Text(event, "trace", "task_id") == task && programtest.Text(event, "type") == "model.input" {
			artifact = programtest.Text(event, "payload", "implicit_sources_ref", "artifact_id")
		}
	}
	status, told, err := server.Try(http.MethodGet, "/v1/artifacts/"+artifact+"/download", nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("artifact %q: %d %s %v", artifact, status, told, err)
	}
	return string(told)
}
