package agents

import (
	"net/http"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// A client forks a conversation of the real OpenCode. The fork has the earlier history and continues independently,
// also on the next server. Its source does not change.
func TestAConversationOfOpenCodeIsForked(t *testing.T) {
	t.Parallel()
	s := programtest.WithOpenCode(t, programtest.WithEnv("HARNESS_TOOLS=workspace.read"))
	server := s.Start()
	server.AwaitRuntime()
	source := server.CreateSession(programtest.Object{"runtime": "opencode", "networkAccess": "enabled", "nativeTools": "off"})
	say := func(session, words string) {
		t.Helper()
		events := server.Follow("threadId=" + session)
		defer events.Close()
		if status := events.WaitTurn(server.Send(session, "MOCK_REPLY["+words+"]")); status != "completed" {
			t.Errorf("the turn ended %s", status)
		}
	}
	said := func(session string) (all string) {
		for _, entry := range server.Entries(session, "agentMessage") {
			all += programtest.Text(entry, "content") + "|"
		}
		return all
	}
	say(source, "first")
	fork := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+source+"/fork", nil), "session", "sessionId")
	if fork == "" || fork == source {
		t.Fatalf("the fork of %s is %q", source, fork)
	}
	server.Eventually("the fork has what was said before", func() bool { return said(fork) == "first|" })
	say(fork, "second")
	server.Stop()
	server = s.Start()
	server.AwaitRuntime()
	s.Model.Forget()
	say(fork, "third")
	if native, _ := offered(s); len(native) > 0 {
		t.Errorf("the fork of a session without them has tools of the agent's own: %v", native)
	}
	if ofFork, ofSource := said(fork), said(source); ofFork != "first|second|third|" || ofSource != "first|" {
		t.Errorf("the fork has %q, its source %q", ofFork, ofSource)
	}
	if asked := s.Model.Requests(); !strings.Contains(string(asked[len(asked)-1].Body), "first") {
		t.Errorf("the model did not get the messages before the fork: %.2000s", asked[len(asked)-1].Body)
	}
}
