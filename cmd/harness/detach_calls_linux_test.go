package main

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"harness/internal/dbtest"
	"harness/runtime/process/shim"
)

// diesAsking has a server killed after it wrote a message's turn/start and before codex, which is frozen, answered it.
// It returns the next server, the session and codex's process id.
func (s *site) diesAsking(message string) (server *instance, session string, codexPID int) {
	s.t.Helper()
	server = s.start()
	session = server.createSession(nil)
	events := server.follow("threadId=" + session)
	if status := events.waitTurn(server.send(session, "MOCK_REPLY[first]")); status != "completed" {
		s.t.Fatalf("the first turn ended %s", status)
	}
	codexPID = server.runtimePID()
	if err := syscall.Kill(codexPID, syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	asked := make(chan struct{})
	dying := server
	go func() {
		defer close(asked)
		_, _, _ = dying.try(http.MethodPost, "/api/sessions/"+session+"/messages", object{"text": message})
	}()
	f := s.shim()
	server.eventually("turn/start is on its way to codex", func() bool {
		state, err := shim.Status(s.t.Context(), f)
		return err == nil && len(state.Calls) == 1 && strings.Contains(state.Calls[0].Label, "turn/start")
	})
	server.kill()
	<-asked
	server = s.start()
	server.waitRuntime()
	return server, session, codexPID
}

// entries are a session's entries of a type.
func (i *instance) entries(session, entryType string) (found []object) {
	i.t.Helper()
	for _, e := range i.transcript(session) {
		if e["type"] == entryType {
			found = append(found, e)
		}
	}
	return found
}

// The server is killed between a request and its answer. codex answers the next one: the turn runs, once, and the call
// is settled.
func TestACallOfADeadServerIsSettledByWhatCodexSays(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine))
			server, session, pid := s.diesAsking("MOCK_REPLY[second]")
			events := server.follow("threadId=" + session)
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			events.wait("the end of the turn", func(f frame) bool { return text(f.payload(), "method") == "turn/completed" })
			said := server.entries(session, "agentMessage")
			if len(said) != 2 || said[1]["content"] != "second" {
				t.Errorf("codex said %v", said)
			}
			if asked := server.entries(session, "userMessage"); len(asked) != 2 {
				t.Errorf("codex was asked %v", asked)
			}
			f := s.shim()
			server.eventually("nothing is open", func() bool {
				state, err := shim.Status(t.Context(), f)
				return err == nil && len(state.Calls) == 0
			})
			server.stop()
			s.requireNoOrphans()
		})
	}
}

// The same, but codex dies before it answers: the session says that there was no answer, nothing is repeated, and the
// next message works.
func TestACallOfADeadServerWithoutAnAnswerIsReported(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine))
			server, session, pid := s.diesAsking("MOCK_REPLY[lost]")
			events := server.follow("threadId=" + session)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			told := events.wait("the report", func(f frame) bool {
				return f.Type == "transcript_updated" && text(f.payload(), "type") == "runtime.unanswered"
			}).payload()
			if content := text(told, "entry", "content"); !strings.Contains(content, "turn/start") ||
				text(told, "entry", "status") != "error" {
				t.Errorf("the session says %v", told)
			}
			server.waitRuntime()
			if status := events.waitTurn(server.send(session, "MOCK_REPLY[third]")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			if listed := server.entries(session, "runtime.unanswered"); len(listed) != 1 {
				t.Errorf("the transcript has %v", listed)
			}
			said := server.entries(session, "agentMessage")
			if len(said) != 2 || said[1]["content"] != "third" {
				t.Errorf("codex said %v", said)
			}
			server.stop()
			s.requireNoOrphans()
		})
	}
}
