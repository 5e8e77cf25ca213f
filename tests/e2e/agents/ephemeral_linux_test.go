package agents

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
	"harness/tests/programtest"
)

// A session with private credentials: its home and conversation survive a restart of the server, no other session
// sees the home, and it is deleted with the session. A discovered runtime with one process for all sessions is
// listed, with the reason why it is unusable. RA-09
func TestASessionHasAHomeOfItsOwn(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t, programtest.WithEnv("HARNESS_RUNTIME_CREDENTIALS=ephemeral", "OPENCODE_BIN="+agenttest.Binary(t, "opencode"),
		"GEMINI_BIN=/nowhere/gemini"))
	s.Env = append(s.Env, "HARNESS_RUNTIMES=")
	server := s.Start()
	if got := runtimeNames(server); got != "codex claude opencode" {
		t.Errorf("it drives %s", got)
	}
	absent := server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/opencode", nil)
	if reason := programtest.Text(absent, "reason"); programtest.Text(absent, "state") != "unavailable" ||
		!strings.Contains(reason, "opencode=namespaced") {
		t.Errorf("opencode is %s: %s", programtest.Text(absent, "state"), reason)
	}
	refused := server.Want(http.StatusServiceUnavailable, http.MethodPost, "/api/sessions",
		programtest.Object{"runtime": "opencode", "networkAccess": "enabled"})
	if !strings.Contains(programtest.Text(refused, "message"), "opencode=namespaced") {
		t.Errorf("a session of it is refused with %v", refused)
	}
	one, two := server.ClaudeSession(), server.ClaudeSession()
	homes := filepath.Join(s.DataDir, "credentials", "sessions", "claude")
	home := func(session string) string { return filepath.Join(homes, session) }
	events := server.Follow("after=0")
	said := fmt.Sprintf("MOCK_REPLY[first] of %s", one)
	events.WaitTurn(server.Send(one, said))
	peek := server.Send(two, "MOCK_CMD[ls "+home(two)+" && ls "+home(one)+"/claude]")
	server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(events.WaitType("approval").Decoded(),
		"approvalId")+"/decision", programtest.Object{"decision": "accept"})
	events.WaitTurn(peek)
	seen := fmt.Sprint(server.Transcript(two))
	if own, other := strings.Contains(seen, "config"), strings.Contains(seen, "projects"); !own || other {
		t.Errorf("a session sees its own home: %t; that of another one: %t; %s", own, other, seen)
	}
	server.Stop()

	// The leftovers of a server killed between creating a home and storing its session, and similar files.
	elsewhere := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(home("orphan"), "claude"), 0o700),
		os.WriteFile(filepath.Join(elsewhere, "kept"), nil, 0o600), os.Symlink(elsewhere, home("link"))); err != nil {
		t.Fatal(err)
	}
	server = s.Start()
	server.Eventually("the home of no session is gone", func() bool {
		_, err := os.Lstat(home("orphan"))
		return os.IsNotExist(err)
	})
	if _, err := os.Stat(filepath.Join(home("link"), "kept")); err != nil {
		t.Error(err)
	}
	if err := os.Remove(home("link")); err != nil {
		t.Fatal(err)
	}
	events = server.Follow("")
	events.WaitTurn(server.Send(one, "MOCK_REPLY[second]"))
	requests := s.Model.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, said) {
		t.Errorf("after a restart the conversation is not gone on with: %.300s", last)
	}
	server.Want(http.StatusOK, http.MethodDelete, "/api/sessions/"+one, nil)
	if _, err := os.Stat(home(one)); !os.IsNotExist(err) {
		t.Errorf("the home of a deleted session: %v", err)
	}
	if _, err := os.Stat(home(two)); err != nil {
		t.Error(err)
	}
	server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/claude", nil) // it lists the models in a temporary home
	if left, err := os.ReadDir(homes); err != nil || len(left) != 1 {
		t.Errorf("homes left: %v, %v", left, err)
	}
}

// RA-10: if the server cannot hide the homes of sessions from each other, it opens none without the operator's
// consent.
func TestHomesThatCannotBeHiddenAreRefused(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t, programtest.WithEnv("HARNESS_RUNTIME_CREDENTIALS=ephemeral"))
	inside := filepath.Join(s.DataDir, "work")
	if err := os.MkdirAll(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "HARNESS_WORKSPACE="+inside) // the server cannot hide the agents' workspace from them
	server := s.Start()
	for _, refused := range []programtest.Object{
		server.Want(http.StatusOK, http.MethodGet, "/api/runtimes/claude", nil),
		server.Want(http.StatusServiceUnavailable, http.MethodPost, "/api/sessions",
			programtest.Object{"runtime": "claude", "networkAccess": "enabled"}),
	} {
		if !strings.Contains(fmt.Sprint(refused), "HARNESS_RUNTIME_CONFINE=off") {
			t.Errorf("it is refused with %v", refused)
		}
	}
	server.Stop()
	s.Env = append(s.Env, "HARNESS_RUNTIME_CONFINE=off", "HARNESS_TRUST_LOCAL=true")
	server = s.Start()
	server.ClaudeSession()
	server.Stop()
}
