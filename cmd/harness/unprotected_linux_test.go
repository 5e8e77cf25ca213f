package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// says has an agent run a command and returns what it wrote.
func (s *site) says(server *instance, session, command string) string {
	s.t.Helper()
	out := filepath.Join(s.workspace, "out")
	turn := server.send(session, "MOCK_CMD[("+command+") > out 2>&1; true]")
	server.eventually("the turn is over", func() bool {
		for _, entry := range server.transcript(session) {
			if entry["turnId"] == turn && entry["role"] == "assistant" && entry["status"] == "complete" {
				return true
			}
		}
		return false
	})
	text, err := os.ReadFile(out)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// Where there is no folder of extensions an agent cannot make one, nor put anything into the empty one that stands
// there meanwhile; what the operator puts there is loaded as always. Without that, nothing is there when the server and
// its runtimes are gone, a killed one's included.
func TestAMissingFolderOfExtensionsIsProtected(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	server.waitRuntime()
	root := filepath.Join(s.workspace, "agents")
	server.stop()
	if left, err := os.ReadDir(s.workspace); err != nil || len(left) > 0 {
		t.Fatalf("after a stop there is %v %v", left, err)
	}
	s.start().kill()
	server = s.start()
	session := server.createSession(object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never",
		"cwd": s.workspace})
	for _, command := range []string{"mkdir -p agents/evil && echo done", "rmdir agents && echo done",
		"mv agents other && echo done"} {
		if said := s.says(server, session, command); strings.Contains(said, "done") {
			t.Errorf("an agent did %s: %s", command, said)
		}
	}
	if left, err := os.ReadDir(root); err != nil || len(left) > 0 {
		t.Errorf("in the folder there is %v %v", left, err)
	}
	server.stop()
	if _, err := os.Stat(root); !os.IsNotExist(err) {
		t.Errorf("after a kill and a stop there is %s: %v", root, err)
	}
	server = s.start()
	server.waitRuntime()
	s.write(0o600, "agents/mine/events.js", `export const registerAgentEvents = (r) => r.on("e", () => 1);`)
	server.want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	server.stop()
	if left, err := os.ReadDir(root); err != nil || len(left) != 1 {
		t.Errorf("of the operator's extensions are left: %v %v", left, err)
	}
}

// What an agent makes where there was no .env and no folder of extensions is neither obeyed nor run, though it would
// run in the sandbox: by no reload and no restart, until the operator consents to it. With consent it is protected from
// the next start on, and is then like any other.
func TestWhatAnAgentPutsInAMissingPlaceIsNotUsed(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("AGENT_EXTENSION_CONFIGURED_ROOTS=deep/agents"))
	server := s.start()
	session := server.createSession(object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never",
		"cwd": s.workspace})
	says := func(command string) string { return s.says(server, session, command) }
	loaded := func() int {
		t.Helper()
		return len(server.want(http.StatusOK, http.MethodGet, "/api/agents/extensions", nil)["modules"].([]any))
	}
	root := filepath.Join(s.workspace, "deep", "agents")
	code := "export const registerAgentEvents = (r) => r.on(\"e\", () => 1);"
	if said := says("mkdir -p deep/agents/evil && echo '" + code +
		"' | tee deep/agents/evil/events.js && echo HARNESS_ALLOWED_HOSTS=canary.example > .env"); !strings.Contains(said,
		"register") {
		t.Fatalf("the agent wrote nothing: %s", said)
	}
	refused := func(when string) {
		t.Helper()
		answer := server.want(http.StatusBadRequest, http.MethodPost, "/api/agents/extensions/reload", nil)
		if problem := fmt.Sprint(answer["errors"]); !strings.Contains(problem, "trust_denied") ||
			!strings.Contains(problem, "harness trust "+root) {
			t.Errorf("%s: %v", when, answer)
		}
		if loaded() != 0 {
			t.Errorf("%s: it is loaded", when)
		}
	}
	refused("a reload")
	server.kill()
	s.requireCommand(2, "harness trust "+filepath.Join(s.workspace, ".env"), "serve")
	if err := os.Remove(filepath.Join(s.workspace, ".env")); err != nil {
		t.Fatal(err)
	}
	server = s.start()
	server.waitRuntime()
	refused("a restart")
	if code, out := s.command("extensions", "list", "--url", server.url); code != 0 ||
		!strings.Contains(out, "not trusted  evil: trust_denied") {
		t.Errorf("list: %d %s", code, out)
	}
	s.requireHash(root, s.trust("--dry-run")+" harness trust "+root)
	s.trust(root)
	server.want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	if loaded() != 1 {
		t.Error("what is consented to is not loaded")
	}
	s.write(0o600, "deep/agents/evil/more.js", "")
	answer := server.want(http.StatusBadRequest, http.MethodPost, "/api/agents/extensions/reload", nil)
	if loaded() != 1 {
		t.Errorf("what ran is gone: %v", answer)
	}
	s.trust()
	server.stop() // and its runtimes
	server = s.start()
	session = server.createSession(object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never",
		"cwd": s.workspace})
	if said := says("echo '" + code + "' > deep/agents/evil/events.js && echo written"); strings.Contains(said,
		"written") {
		t.Errorf("it is not protected: %s", said)
	}
	s.write(0o600, "deep/agents/evil/events.js", code+"\n// edited")
	server.want(http.StatusOK, http.MethodPost, "/api/agents/extensions/reload", nil)
	server.stop()
}
