package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"harness/tests/programtest"
)

// says makes an agent run a command and returns its output.
func says(s *programtest.Site, server *programtest.Server, session, command string) string {
	s.T.Helper()
	out := filepath.Join(s.Workspace, "out")
	turn := server.Send(session, "MOCK_CMD[("+command+") > out 2>&1; true]")
	server.Eventually("the turn is over", func() bool {
		for _, entry := range server.Transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				return true
			}
		}
		return false
	})
	text, err := os.ReadFile(out)
	if err != nil {
		s.T.Fatal(err)
	}
	return string(text)
}

// Without an extensions folder, an agent can neither create one nor write to the empty one that the server created.
// Files that the operator puts there load as usual. Otherwise the folder is removed after the server and its runtimes
// end, even after a kill.
func TestAMissingFolderOfExtensionsIsProtected(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	server.WaitRuntime()
	root := filepath.Join(s.Workspace, "agents")
	server.Stop()
	if left, err := os.ReadDir(s.Workspace); err != nil || len(left) > 0 {
		t.Fatalf("after a stop there is %v %v", left, err)
	}
	s.Start().Kill()
	// A server killed at that moment has created a runtime's folder, but not yet recorded which runtime runs in it.
	if err := os.MkdirAll(filepath.Join(s.RunDir(), uuid.Must(uuid.NewV7()).String()), 0o700); err != nil {
		t.Fatal(err)
	}
	server = s.Start()
	session := server.CreateSession(programtest.Object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never",
		"cwd": s.Workspace})
	for _, command := range []string{"mkdir -p agents/evil && echo done", "rmdir agents && echo done",
		"mv agents other && echo done"} {
		if said := says(s, server, session, command); strings.Contains(said, "done") {
			t.Errorf("an agent did %s: %s", command, said)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("in the folder there is %v %v", left, err)
	}
	server.Stop()
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("after a kill and a stop there is %s: %v", root, err)
	}
	server = s.Start()
	server.WaitRuntime()
	write(s, 0o600, "agents/mine/events.js", `export const registerAgentEvents = (r) => r.on("e", () => 1);`)
	server.Want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	server.Stop()
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("of the operator's extensions are left: %v %v", left, err)
	}
}

// The server neither obeys nor runs a .env or extensions folder that an agent creates, even if the code would run in
// the sandbox. That holds at every reload and restart until the operator consents. With consent the folder is protected
// from the next start on, and is then like any other.
func TestWhatAnAgentPutsInAMissingPlaceIsNotUsed(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("AGENT_EXTENSION_CONFIGURED_ROOTS=deep/agents"))
	server := s.Start()
	session := server.CreateSession(programtest.Object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never",
		"cwd": s.Workspace})
	says := func(command string) string { return says(s, server, session, command) }
	loaded := func() int {
		t.Helper()
		return len(server.Want(http.StatusOK, http.MethodGet, "/api/agents/extensions", nil)["modules"].([]any))
	}
	root := filepath.Join(s.Workspace, "deep", "agents")
	code := "export const registerAgentEvents = (r) => r.on(\"e\", () => 1);"
	if said := says("mkdir -p deep/agents/evil && echo '" + code +
		"' | tee deep/agents/evil/events.js && echo HARNESS_ALLOWED_HOSTS=canary.example > .env"); !strings.Contains(said,
		"register") {
		t.Fatalf("the agent wrote nothing: %s", said)
	}
	refused := func(when string) {
		t.Helper()
		answer := server.Want(http.StatusBadRequest, http.MethodPost, "/api/agents/extensions/reload", nil)
		if problem := fmt.Sprint(answer["errors"]); !strings.Contains(problem, "trust_denied") ||
			!strings.Contains(problem, "harness trust "+root) {
			t.Errorf("%s: %v", when, answer)
		}
		if loaded() != 0 {
			t.Errorf("%s: it is loaded", when)
		}
	}
	refused("a reload")
	server.Kill()
	requireCommand(s, 2, "harness trust "+filepath.Join(s.Workspace, ".env"), "serve")
	if err := os.Remove(filepath.Join(s.Workspace, ".env")); err != nil {
		t.Fatal(err)
	}
	server = s.Start()
	server.WaitRuntime()
	refused("a restart")
	if code, out := s.Command("extensions", "list", "--url", server.URL); code != 0 ||
		!strings.Contains(out, "not trusted  evil: trust_denied") {
		t.Errorf("list: %d %s", code, out)
	}
	requireHash(s, root, consent(s, "--dry-run")+" harness trust "+root)
	consent(s, root)
	server.Want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	if loaded() != 1 {
		t.Error("what is consented to is not loaded")
	}
	write(s, 0o600, "deep/agents/evil/more.js", "")
	answer := server.Want(http.StatusBadRequest, http.MethodPost, "/api/agents/extensions/reload", nil)
	if loaded() != 1 {
		t.Errorf("what ran is gone: %v", answer)
	}
	consent(s)
	server.Stop() // stops its runtimes, too
	server = s.Start()
	session = server.CreateSession(programtest.Object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never",
		"cwd": s.Workspace})
	if said := says("echo '" + code + "' > deep/agents/evil/events.js && echo written"); strings.Contains(said,
		"written") {
		t.Errorf("it is not protected: %s", said)
	}
	write(s, 0o600, "deep/agents/evil/events.js", code+"\n// edited")
	server.Want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	server.Stop()
}
