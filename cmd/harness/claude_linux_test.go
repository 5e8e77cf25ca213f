package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"harness/internal/agenttest"
)

// claudeKey is the key of Claude Code's model in these tests. It is looked for where it must not be.
const claudeKey = "sk-ant-planted-8d1c5e"

// withClaude makes a site with the real Claude Code beside codex, on the same scripted model.
func withClaude(t *testing.T, options ...siteOption) *site {
	t.Helper()
	s := newSite(t, append(options, withEnv("HARNESS_RUNTIMES=codex,claude", "CLAUDE_BIN="+agenttest.Binary(t, "claude"),
		"ANTHROPIC_API_KEY="+claudeKey))...)
	s.env = append(s.env, "ANTHROPIC_BASE_URL="+s.model.Root())
	return s
}

// claudeSession opens one in which only approvals stand in the way.
func (i *instance) claudeSession() string {
	i.t.Helper()
	return i.createSession(object{"runtime": "claude", "approvalPolicy": "untrusted",
		"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
}

// claudeProcess is the one Claude Code process of a server, as health tells of it.
func (i *instance) claudeProcess() string {
	i.t.Helper()
	for _, one := range i.want(http.StatusOK, http.MethodGet, "/api/health", nil)["runtimes"].([]any) {
		if processes := one.(object)["processes"].([]any); text(one, "name") == "claude" && len(processes) == 1 {
			return text(processes[0], "pid")
		}
	}
	return ""
}

// A turn whose Claude Code was killed before a tool ran is tried again when somebody asks for it, with its message.
func TestATurnOfClaudeCodeIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := withClaude(t)
	server := s.start()
	session := server.claudeSession()
	events := server.follow("after=0")
	turn := server.send(session, "MOCK_HOLD[cut off]")
	if err := s.model.WaitHeld(t.Context(), "cut off"); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(server.claudeProcess())
	if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("its process is %d, %v", pid, err)
	}
	if status := events.waitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	s.model.Release("cut off")
	again := server.tryAgain(session, turn)
	if status := events.waitTurn(again); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
	requests := s.model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "MOCK_HOLD[cut off]") {
		t.Errorf("the model was asked %.300s", last)
	}
}

// requireKeyKept looks for the planted key where everybody, or another runtime, could read it.
func (s *site) requireKeyKept(server *instance, pid string) {
	s.t.Helper()
	server.waitRuntime()
	for _, path := range []string{"/proc/" + pid + "/cmdline", fmt.Sprintf("/proc/%d/environ", server.runtimePID())} {
		raw, err := os.ReadFile(path)
		if err != nil {
			s.t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(claudeKey)) {
			s.t.Errorf("%s holds the key", path)
		}
	}
	if strings.Contains(server.logTail(), claudeKey) {
		s.t.Error("the log holds the key")
	}
}

// A level Claude Code cannot enforce here is refused with the ones it can; its models and state are told without
// anybody having used it.
func TestClaudeCodeRefusesWhatItCannotEnforce(t *testing.T) {
	t.Parallel()
	s := withClaude(t)
	server := s.start()
	for field, body := range map[string]object{
		"networkAccess":  {"filesystemSandbox": "danger-full-access", "networkAccess": "restricted"},
		"approvalPolicy": {"filesystemSandbox": "read-only", "approvalPolicy": "whatever"},
	} {
		body["runtime"] = "claude"
		refused := fmt.Sprint(server.want(http.StatusBadRequest, http.MethodPost, "/api/sessions", body))
		if !strings.Contains(refused, field) {
			t.Errorf("%s: %s", field, refused)
		}
	}
	// Who names no level gets the operator's for this runtime; a refusal says which settings those are.
	refused := fmt.Sprint(server.want(http.StatusBadRequest, http.MethodPost, "/api/sessions",
		object{"runtime": "claude"}))
	if !strings.Contains(refused, "DEFAULT_NETWORK_ACCESS") {
		t.Errorf("defaults that cannot be enforced: %s", refused)
	}
	if listed := server.want(http.StatusOK, http.MethodGet, "/api/sessions", nil)["data"].([]any); len(listed) != 0 {
		t.Errorf("a refused session is there: %v", listed)
	}
	server.stop()
	server = s.start("HARNESS_RUNTIME_CLAUDE_SANDBOX=read-only", "HARNESS_RUNTIME_CLAUDE_APPROVAL=never")
	opened := server.createSession(object{"runtime": "claude"})
	read := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+opened, nil)
	if shown := fmt.Sprint(read); !strings.Contains(shown, "filesystemSandbox:read-only") ||
		!strings.Contains(shown, "approvalPolicy:never") {
		t.Errorf("it has %s", shown)
	}
}

// Without HARNESS_RUNTIMES a server drives codex and what it finds; one that is named and missing is told of, and the
// server starts.
func TestRuntimesThatAreFound(t *testing.T) {
	t.Parallel()
	for bin, want := range map[string]string{agenttest.Binary(t, "claude"): "codex claude", "/nowhere/claude": "codex"} {
		server := newSite(t, withEnv("HARNESS_RUNTIMES=", "CLAUDE_BIN="+bin)).start()
		if got := server.runtimeNames(); got != want {
			t.Errorf("with %s it drives %s", bin, got)
		}
	}
	server := newSite(t, withEnv("HARNESS_RUNTIMES=codex,claude", "CLAUDE_BIN=/nowhere/claude")).start()
	health := server.want(http.StatusOK, http.MethodGet, "/api/health", nil)["runtimes"].([]any)
	if missing := health[1]; text(missing, "state") != "unavailable" ||
		!strings.Contains(fmt.Sprint(missing), "CLAUDE_BIN") {
		t.Errorf("it is told of as %v", missing)
	}
}

func (i *instance) runtimeNames() string {
	i.t.Helper()
	var names []string
	for _, one := range i.want(http.StatusOK, http.MethodGet, "/api/health", nil)["runtimes"].([]any) {
		names = append(names, text(one, "name"))
	}
	return strings.Join(names, " ")
}
