package agents

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// claudeProcess returns the only Claude Code process of a server, from its health.
func claudeProcess(i *programtest.Server) string {
	i.T.Helper()
	for _, one := range i.Want(http.StatusOK, http.MethodGet, "/api/health", nil)["runtimes"].([]any) {
		if processes := one.(programtest.Object)["processes"].([]any); programtest.Text(one, "name") == "claude" && len(processes) == 1 {
			return programtest.Text(processes[0], "pid")
		}
	}
	return ""
}

// A client retries a turn whose Claude Code was killed before a tool ran. The retry has the turn's message.
func TestATurnOfClaudeCodeIsTriedAgain(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	server := s.Start()
	session := server.ClaudeSession()
	events := server.Follow("after=0")
	turn := server.Send(session, "MOCK_HOLD[cut off]")
	if err := s.Model.WaitHeld(t.Context(), "cut off"); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(claudeProcess(server))
	if err != nil || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("its process is %d, %v", pid, err)
	}
	if status := events.WaitTurn(turn); status != "interrupted" {
		t.Errorf("the turn ended %s", status)
	}
	s.Model.Release("cut off")
	again := server.TryAgain(session, turn)
	if status := events.WaitTurn(again); status != "completed" {
		t.Errorf("the next turn ended %s", status)
	}
	requests := s.Model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "MOCK_HOLD[cut off]") {
		t.Errorf("the model was asked %.300s", last)
	}
}

// requireKeyKept searches for the planted key in all places that every user or another runtime could read.
func requireKeyKept(s *programtest.Site, server *programtest.Server, pid string) {
	s.T.Helper()
	server.WaitRuntime()
	for _, path := range []string{"/proc/" + pid + "/cmdline", fmt.Sprintf("/proc/%d/environ", server.RuntimePID())} {
		raw, err := os.ReadFile(path)
		if err != nil {
			s.T.Fatal(err)
		}
		if bytes.Contains(raw, []byte(programtest.ClaudeKey)) {
			s.T.Errorf("%s holds the key", path)
		}
	}
	if strings.Contains(server.Log(), programtest.ClaudeKey) {
		s.T.Error("the log holds the key")
	}
}

// Claude Code refuses a level that it cannot enforce here and names the ones it can. Its models and state are known
// before its first use.
func TestClaudeCodeRefusesWhatItCannotEnforce(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t)
	server := s.Start()
	for field, body := range map[string]programtest.Object{
		"networkAccess":  {"filesystemSandbox": "danger-full-access", "networkAccess": "restricted"},
		"approvalPolicy": {"filesystemSandbox": "read-only", "approvalPolicy": "whatever"},
	} {
		body["runtime"] = "claude"
		refused := fmt.Sprint(server.Want(http.StatusBadRequest, http.MethodPost, "/api/sessions", body))
		if !strings.Contains(refused, field) {
			t.Errorf("%s: %s", field, refused)
		}
	}
	if listed := server.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)["data"].([]any); len(listed) != 0 {
		t.Errorf("a refused session is there: %v", listed)
	}
	free := server.CreateSession(programtest.Object{"runtime": "claude", "filesystemSandbox": "danger-full-access",
		"approvalPolicy": "untrusted"})
	shown := fmt.Sprint(server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+free, nil))
	if !strings.Contains(shown, "networkAccess:enabled") {
		t.Errorf("in full access it has %s", shown)
	}
	server.Stop()
	server = s.Start("HARNESS_RUNTIME_SANDBOX=claude=read-only", "HARNESS_RUNTIME_APPROVAL=claude=never")
	opened := server.CreateSession(programtest.Object{"runtime": "claude"})
	read := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+opened, nil)
	if shown := fmt.Sprint(read); !strings.Contains(shown, "filesystemSandbox:read-only") ||
		!strings.Contains(shown, "approvalPolicy:never") {
		t.Errorf("it has %s", shown)
	}
}

// Without HARNESS_RUNTIMES, a server runs codex and the agents that it finds. It reports a missing agent that the
// setting names, and starts anyway.
func TestRuntimesThatAreFound(t *testing.T) {
	t.Parallel()
	for bin, want := range map[string]string{agenttest.Binary(t, "claude"): "codex claude", "/nowhere/claude": "codex"} {
		server := programtest.New(t, programtest.WithEnv("HARNESS_RUNTIMES=", "CLAUDE_BIN="+bin)).Start()
		if got := runtimeNames(server); got != want {
			t.Errorf("with %s it drives %s", bin, got)
		}
	}
	server := programtest.New(t, programtest.WithEnv("HARNESS_RUNTIMES=codex,claude", "CLAUDE_BIN=/nowhere/claude")).Start()
	health := server.Want(http.StatusOK, http.MethodGet, "/api/health", nil)["runtimes"].([]any)
	if missing := health[1]; programtest.Text(missing, "state") != "unavailable" ||
		!strings.Contains(fmt.Sprint(missing), "CLAUDE_BIN") {
		t.Errorf("it is reported as %v", missing)
	}
}

func runtimeNames(i *programtest.Server) string {
	i.T.Helper()
	var names []string
	for _, one := range i.Want(http.StatusOK, http.MethodGet, "/api/health", nil)["runtimes"].([]any) {
		names = append(names, programtest.Text(one, "name"))
	}
	return strings.Join(names, " ")
}
