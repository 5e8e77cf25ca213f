package crashes

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// recoveryBound is how soon after its start a server must publish the effects of its predecessor's death.
const recoveryBound = 2 * time.Second

// A server is killed with SIGKILL during a turn that waits for an approval, with codex as its child. The next server
// reports that the turn was interrupted and the approval expired. A client that resumes misses nothing, and the next
// message continues the same thread.
func TestAServerKilledInATurnIsRecovered(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
		events := server.Follow("after=0")
		turn := server.Send(session, "MOCK_CMD[touch never.txt]")
		asked := events.WaitType("approval")
		approval := programtest.Text(asked.Decoded(), "approvalId")
		seen := events.All()
		server.Kill()

		began := time.Now()
		server = s.Start()
		resumed := server.Follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
		if verdict := resumed.WaitType("resumed"); verdict.Raw == "" {
			t.Fatal("no verdict")
		}
		expired := resumed.WaitType("approval_resolved").Decoded()
		if expired["approvalId"] != approval || expired["status"] != "expired" {
			t.Errorf("the approval ended as %v", expired)
		}
		if status := resumed.WaitTurn(turn); status != "interrupted" {
			t.Errorf("the turn ended %s", status)
		}
		// The start of the process takes extra time (more with the race detector). The limit applies from then on.
		if took := time.Since(began); took > programtest.Slowness*(recoveryBound+5*time.Second) {
			t.Errorf("published after %v", took)
		}
		if last := seen[len(seen)-1].Pos; resumed.All()[2].Pos <= last {
			t.Errorf("position %d came again after %d", resumed.All()[2].Pos, last)
		}
		server.Want(http.StatusNotFound, http.MethodPost, "/api/approvals/"+approval+"/decision",
			programtest.Object{"decision": "accept"})
		if listed := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any); len(listed) != 0 {
			t.Errorf("still pending: %v", listed)
		}
		if status := resumed.WaitTurn(server.Send(session, "MOCK_REPLY[still here]")); status != "completed" {
			t.Fatalf("the next turn ended %s", status)
		}
		entries := server.Transcript(session)
		if entries[0]["content"] != "MOCK_CMD[touch never.txt]" ||
			programtest.Entry(t, entries, "agentMessage")["content"] != "still here" {
			t.Errorf("the thread did not go on: %v", entries)
		}
		if _, err := os.Stat(filepath.Join(s.Workspace, "never.txt")); err == nil {
			t.Error("a command ran without approval")
		}
		server.Stop()
	}, direct())
}

// Codex itself is killed during a turn. The server restarts it, interrupts its turn and expires its approval, and the
// next message resumes the thread.
func TestCodexKilledInATurnIsRestarted(t *testing.T) {
	programtest.EachSite(t, func(t *testing.T, s *programtest.Site) {
		server := s.Start()
		session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
		events := server.Follow("threadId=" + session)
		turn := server.Send(session, "MOCK_CMD[touch never.txt]")
		approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
		pid := server.SignalRuntime(syscall.SIGKILL)
		if expired := events.WaitType("approval_resolved").Decoded(); expired["approvalId"] != approval ||
			expired["status"] != "expired" {
			t.Errorf("the approval ended as %v", expired)
		}
		if status := events.WaitTurn(turn); status != "interrupted" {
			t.Errorf("the turn ended %s", status)
		}
		server.WaitRuntime()
		if again := server.RuntimePID(); again == pid || again == 0 {
			t.Errorf("codex was process %d and is %d", pid, again)
		}
		// The command had no approval, so no tool has run. The session offers a retry of the turn, which asks again.
		again := server.TryAgain(session, turn)
		server.Eventually("it asks again", func() bool { return len(server.Approvals(session)) == 1 })
		server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+programtest.Text(server.Approvals(session)[0], "approvalId")+
			"/decision", programtest.Object{"decision": "accept"})
		if status := events.WaitTurn(again); status != "completed" {
			t.Errorf("the next turn ended %s", status)
		}
		server.Want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/turns/"+again+"/retry", nil)
		server.Stop()
	})
}

// Without codex the server still starts and reports this. Requests that need codex get 503 with the remedy.
func TestAMissingCodexIsReportedWithItsRemedy(t *testing.T) {
	t.Parallel()
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex")).Start()
	server.Eventually("health names the remedy", func() bool {
		_, health := server.Call(http.MethodGet, "/api/health", nil)
		return health["codex"].(programtest.Object)["running"] == false && strings.Contains(fmt.Sprint(health), "CODEX_BIN")
	})
	answer := server.Want(http.StatusServiceUnavailable, http.MethodPost, "/api/sessions", nil)
	if answer["code"] != "runtime_unavailable" || !strings.Contains(programtest.Text(answer, "message"), "CODEX_BIN") {
		t.Errorf("answer %v", answer)
	}
	server.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)
	server.Stop()
}

// An idle server stops at once. A second server on the same data directory is refused with a clear message.
func TestOneServerPerDataDirectory(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	code, out := s.Command("serve")
	if code == 0 || !strings.Contains(out, "already using the data directory") {
		t.Errorf("the second server ended with %d: %s", code, out)
	}
	server.Stop()
	s.Start().Stop()
}

// The journal has no gaps and every acknowledged write survives kills at random moments (see upserts_test.go). This
// test checks both stores after an ordinary stop during a turn.
func TestAGracefulStopInATurnLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine))
			server := s.Start()
			session := server.CreateSession(nil)
			events := server.Follow("after=0")
			turn := server.Send(session, "MOCK_HOLD[long]")
			if err := s.Model.WaitHeld(t.Context(), "long"); err != nil {
				t.Fatal(err)
			}
			server.Stop()
			s.RequireNoOrphans() // the shim has ended too
			<-events.Ended
			if !strings.Contains(fmt.Sprint(events.Err), "1012") &&
				!strings.Contains(fmt.Sprint(events.Err), "StatusServiceRestart") {
				t.Errorf("the socket was closed with %v, want 1012", events.Err)
			}
			seen := events.All()
			server = s.Start()
			resumed := server.Follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
			if status := resumed.WaitTurn(turn); status != "interrupted" {
				t.Errorf("the turn ended %s", status)
			}
		})
	}
}
