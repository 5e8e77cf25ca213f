package agents

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// RA-15: the real codex and Claude Code read only the session's own files by themselves. A task runs after files were
// planted in its folder and the server restarted. It reads the same files as the previous task, and its model gets no
// other.
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

// sourcesOfTask runs a task and returns the artifact with the files that its agent reads by itself.
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
	status, content, err := server.Try(http.MethodGet, "/v1/artifacts/"+artifact+"/download", nil)
	if err != nil || status != http.StatusOK {
		t.Fatalf("artifact %q: %d %s %v", artifact, status, content, err)
	}
	return string(content)
}

// RA-15: a task of a session opened by the task API fails with SOURCES_CHANGED if a file that its agent reads by
// itself has changed since the session started, unless the task or the session allows it. Sessions of other APIs
// continue.
func TestAChangedSourceEndsTheTask(t *testing.T) {
	t.Parallel()
	s := programtest.WithOpenCode(t, programtest.WithEnv("DEFAULT_NETWORK_ACCESS=enabled"))
	server := s.Start()
	server.WaitRuntime()
	codexHome := ""
	for _, set := range s.Env {
		if value, is := strings.CutPrefix(set, "CODEX_HOME="); is {
			codexHome = value
		}
	}
	homes := map[string]string{"codex": codexHome, "opencode": filepath.Join(s.DataDir, "credentials", "namespaces", "opencode",
		"default", "config", "opencode")}
	for name, home := range homes {
		open := func(wish programtest.Object) string {
			wish["runtime"], wish["cwd"], wish["permission_mode"] = name, s.Workspace, "ask"
			return programtest.Text(server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions", wish), "session_id")
		}
		pinned, free := open(programtest.Object{}), open(programtest.Object{"allow_changed_sources": true})
		run := func(session, task string, more programtest.Object) programtest.Object {
			base := "/v1/sessions/" + session + "/tasks"
			more["task_id"], more["messages"] = task, []programtest.Object{{"role": "user", "content": "MOCK_REPLY[" + task + "]"}}
			server.Want(http.StatusAccepted, http.MethodPost, base, more)
			var ended programtest.Object
			server.Eventually("the task is over", func() bool {
				ended = server.Want(http.StatusOK, http.MethodGet, base+"/"+task, nil)
				return ended["ended_at"] != nil
			})
			return ended
		}
		if first := run(pinned, "same", programtest.Object{}); first["status"] != "completed" {
			t.Errorf("%s: with the same files a task ended as %v", name, first)
		}
		if err := os.MkdirAll(home, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(home, "AGENTS.md"), []byte("new words"), 0o600); err != nil {
			t.Fatal(err)
		}
		refused := run(pinned, "changed", programtest.Object{})
		if programtest.Text(refused, "failure", "code") != "SOURCES_CHANGED" ||
			!strings.Contains(programtest.Text(refused, "failure", "recovery"), "allow_changed_sources") ||
			!strings.Contains(programtest.Text(refused, "failure", "message"), "AGENTS.md") {
			t.Errorf("%s: with another file a task ended as %v", name, refused)
		}
		for what, ended := range map[string]programtest.Object{
			"the task allows it":    run(pinned, "allowed", programtest.Object{"allowChangedSources": true}),
			"the session allows it": run(free, "free", programtest.Object{}),
		} {
			if ended["status"] != "completed" {
				t.Errorf("%s: %s, and it ended as %v", name, what, ended)
			}
		}
	}
	server.Stop()
}
