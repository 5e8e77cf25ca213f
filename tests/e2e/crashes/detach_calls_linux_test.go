package crashes

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime/process/shim"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// diesAsking kills a server after it wrote a message's turn/start and before the frozen codex responded. It returns
// the next server, the session and codex's process id.
func diesAsking(s *programtest.Site, message string) (server *programtest.Server, session string, codexPID int) {
	s.T.Helper()
	server = s.Start()
	session = server.CreateSession(nil)
	events := server.Follow("threadId=" + session)
	if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[first]")); status != "completed" {
		s.T.Fatalf("the first turn ended %s", status)
	}
	codexPID = server.SignalRuntime(syscall.SIGSTOP)
	asked := make(chan struct{})
	dying := server
	go func() {
		defer close(asked)
		_, _, _ = dying.Try(http.MethodPost, "/api/sessions/"+session+"/messages", programtest.Object{"text": message})
	}()
	f := shimOf(s)
	server.Eventually("turn/start is on its way to codex", func() bool {
		state, err := shim.Status(s.T.Context(), f)
		return err == nil && len(state.Calls) == 1 && strings.Contains(state.Calls[0].Label, "turn/start")
	})
	server.Kill()
	<-asked
	server = s.Start()
	server.WaitRuntime()
	return server, session, codexPID
}

// The server is killed between a request and its response. codex responds to the next server: the turn runs once, and
// the call is settled.
func TestACallOfADeadServerIsSettledByWhatCodexSays(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine))
			server, session, pid := diesAsking(s, "MOCK_REPLY[second]")
			events := server.Follow("threadId=" + session)
			if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			events.Wait("the end of the turn", func(f programtest.Frame) bool { return programtest.Text(f.Decoded(), "method") == "turn/completed" })
			said := server.Entries(session, "agentMessage")
			if len(said) != 2 || said[1]["content"] != "second" {
				t.Errorf("codex said %v", said)
			}
			if asked := server.Entries(session, "userMessage"); len(asked) != 2 {
				t.Errorf("codex was asked %v", asked)
			}
			f := shimOf(s)
			server.Eventually("nothing is open", func() bool {
				state, err := shim.Status(t.Context(), f)
				return err == nil && len(state.Calls) == 0
			})
			server.Stop()
			s.RequireNoOrphans()
		})
	}
}

// The same, but codex dies before it responds. The session reports the missing response, nothing is repeated, and the
// next message works.
func TestACallOfADeadServerWithoutAnAnswerIsReported(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine))
			server, session, pid := diesAsking(s, "MOCK_REPLY[lost]")
			events := server.Follow("threadId=" + session)
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			report := events.Wait("the report", func(f programtest.Frame) bool {
				return f.Type == "transcript_updated" && programtest.Text(f.Decoded(), "type") == "runtime.unanswered"
			}).Decoded()
			if content := programtest.Text(report, "entry", "content"); !strings.Contains(content, "turn/start") ||
				programtest.Text(report, "entry", "status") != "error" {
				t.Errorf("the session says %v", report)
			}
			server.WaitRuntime()
			if status := events.WaitTurn(server.Send(session, "MOCK_REPLY[third]")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			if listed := server.Entries(session, "runtime.unanswered"); len(listed) != 1 {
				t.Errorf("the transcript has %v", listed)
			}
			said := server.Entries(session, "agentMessage")
			if len(said) != 2 || said[1]["content"] != "third" {
				t.Errorf("codex said %v", said)
			}
			server.Stop()
			s.RequireNoOrphans()
		})
	}
}
