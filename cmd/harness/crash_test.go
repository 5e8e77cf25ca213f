package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"harness/internal/dbtest"
)

// recoveryBound is how soon after its start a server has told clients what its predecessor's death ended.
const recoveryBound = 2 * time.Second

// A server killed with SIGKILL in the middle of a turn that waits for an approval, with codex as its own child: the
// next one says that the turn was interrupted and the approval has expired, a client that resumes misses nothing, and
// the next message goes on in the same thread.
func TestAServerKilledInATurnIsRecovered(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(object{"approvalPolicy": "untrusted"})
		events := server.follow("after=0")
		turn := server.send(session, "MOCK_CMD[touch never.txt]")
		asked := events.waitType("approval")
		approval := text(asked.payload(), "approvalId")
		seen := events.all()
		server.kill()

		began := time.Now()
		server = s.start()
		resumed := server.follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
		if verdict := resumed.waitType("resumed"); verdict.raw == "" {
			t.Fatal("no verdict")
		}
		expired := resumed.waitType("approval_resolved").payload()
		if expired["approvalId"] != approval || expired["status"] != "expired" {
			t.Errorf("the approval ended as %v", expired)
		}
		if status := resumed.waitTurn(turn); status != "interrupted" {
			t.Errorf("the turn ended %s", status)
		}
		// Starting the process takes its own time (the race detector's more); from then on the bound holds.
		if took := time.Since(began); took > slowness*(recoveryBound+5*time.Second) {
			t.Errorf("told after %v", took)
		}
		if last := seen[len(seen)-1].Pos; resumed.all()[2].Pos <= last {
			t.Errorf("position %d came again after %d", resumed.all()[2].Pos, last)
		}
		server.want(http.StatusNotFound, http.MethodPost, "/api/approvals/"+approval+"/decision",
			object{"decision": "accept"})
		if listed := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any); len(listed) != 0 {
			t.Errorf("still pending: %v", listed)
		}
		if status := resumed.waitTurn(server.send(session, "MOCK_REPLY[still here]")); status != "completed" {
			t.Fatalf("the next turn ended %s", status)
		}
		entries := server.transcript(session)
		if entries[0]["content"] != "MOCK_CMD[touch never.txt]" ||
			entry(t, entries, "agentMessage")["content"] != "still here" {
			t.Errorf("the thread did not go on: %v", entries)
		}
		if _, err := os.Stat(filepath.Join(s.workspace, "never.txt")); err == nil {
			t.Error("a command ran that nobody approved")
		}
		server.stop()
	}, direct())
}

// Codex itself is killed in the middle of a turn: it is restarted, its turn is interrupted, its approval expires, and
// the next message resumes the thread.
func TestCodexKilledInATurnIsRestarted(t *testing.T) {
	eachSite(t, func(t *testing.T, s *site) {
		server := s.start()
		session := server.createSession(object{"approvalPolicy": "untrusted"})
		events := server.follow("threadId=" + session)
		turn := server.send(session, "MOCK_CMD[touch never.txt]")
		approval := text(events.waitType("approval").payload(), "approvalId")
		_, health := server.call(http.MethodGet, "/api/health", nil)
		pid := int(health["codex"].(object)["pid"].(float64))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		if expired := events.waitType("approval_resolved").payload(); expired["approvalId"] != approval ||
			expired["status"] != "expired" {
			t.Errorf("the approval ended as %v", expired)
		}
		if status := events.waitTurn(turn); status != "interrupted" {
			t.Errorf("the turn ended %s", status)
		}
		server.waitRuntime()
		_, health = server.call(http.MethodGet, "/api/health", nil)
		if again := int(health["codex"].(object)["pid"].(float64)); again == pid {
			t.Errorf("health still shows pid %d", pid)
		}
		// Nobody allowed the command, so no tool has run: the turn is offered to be tried again, and asks again.
		again := server.tryAgain(session, turn)
		server.eventually("it asks again", func() bool { return len(server.approvals(session)) == 1 })
		server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+text(server.approvals(session)[0], "approvalId")+
			"/decision", object{"decision": "accept"})
		if status := events.waitTurn(again); status != "completed" {
			t.Errorf("the next turn ended %s", status)
		}
		server.want(http.StatusConflict, http.MethodPost, "/api/sessions/"+session+"/turns/"+again+"/retry", nil)
		server.stop()
	})
}

// tryAgain has a turn tried again that its session offers, and returns the new one.
func (i *instance) tryAgain(session, turn string) string {
	i.t.Helper()
	read := i.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	if offered := text(read, "session", "retryableTurnId"); offered != turn {
		i.t.Errorf("%q is offered to be tried again, not %s", offered, turn)
	}
	return text(i.want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/turns/"+turn+"/retry", nil),
		"turnId")
}

func (i *instance) approvals(session string) []any {
	i.t.Helper()
	return i.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
}

// Without codex the server still starts, says so, and answers 503 with the remedy where it needs it.
func TestAMissingCodexIsToldWithItsRemedy(t *testing.T) {
	t.Parallel()
	server := newSite(t, withEnv("CODEX_BIN=/nowhere/codex")).start()
	server.eventually("health names the remedy", func() bool {
		_, health := server.call(http.MethodGet, "/api/health", nil)
		return health["codex"].(object)["running"] == false && strings.Contains(fmt.Sprint(health), "CODEX_BIN")
	})
	answer := server.want(http.StatusServiceUnavailable, http.MethodPost, "/api/sessions", nil)
	if answer["code"] != "runtime_unavailable" || !strings.Contains(text(answer, "message"), "CODEX_BIN") {
		t.Errorf("answer %v", answer)
	}
	server.want(http.StatusOK, http.MethodGet, "/api/sessions", nil)
	server.stop()
}

// An idle server stops at once, and a second one on the same data directory is refused with a clear line.
func TestOneServerPerDataDirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	server := s.start()
	code, out := s.command("serve")
	if code == 0 || !strings.Contains(out, "already using the data directory") {
		t.Errorf("the second server ended with %d: %s", code, out)
	}
	server.stop()
	s.start().stop()
}

// The gap-free journal and every acknowledged write survive kills at random moments (see upserts_test.go); here the
// engines' stores are looked at after an ordinary stop in the middle of a turn.
func TestAGracefulStopInATurnLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine))
			server := s.start()
			session := server.createSession(nil)
			events := server.follow("after=0")
			turn := server.send(session, "MOCK_HOLD[long]")
			if err := s.model.WaitHeld(t.Context(), "long"); err != nil {
				t.Fatal(err)
			}
			server.stop()
			s.requireNoOrphans() // the shim is gone, too
			<-events.ended
			if !strings.Contains(fmt.Sprint(events.err), "1012") &&
				!strings.Contains(fmt.Sprint(events.err), "StatusServiceRestart") {
				t.Errorf("the socket was closed with %v, want 1012", events.err)
			}
			seen := events.all()
			server = s.start()
			resumed := server.follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
			if status := resumed.waitTurn(turn); status != "interrupted" {
				t.Errorf("the turn ended %s", status)
			}
		})
	}
}
