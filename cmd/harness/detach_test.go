package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/dbtest"
)

// direct makes a site whose runtimes are children of its servers.
func direct() siteOption { return withEnv("HARNESS_RUNTIME_DETACH=false") }

// The server is killed while a turn waits for an approval; the next one goes on with the same codex, the same turn and
// the same approval.
func TestATurnOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := newSite(t, withEngine(engine), withRaceDetector())
			server := s.start()
			session := server.createSession(object{"approvalPolicy": "untrusted"})
			events := server.follow("after=0")
			file := filepath.Join(s.workspace, "made.txt")
			turn := server.send(session, "MOCK_CMD[touch "+file+"]")
			approval := text(events.waitType("approval").payload(), "approvalId")
			pid := server.runtimePID()
			seen := events.all()
			server.kill()

			server = s.start()
			resumed := server.follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
			server.waitRuntime()
			if again := server.runtimePID(); again != pid {
				t.Errorf("codex is process %d, was %d", again, pid)
			}
			listed := server.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
			if len(listed) != 1 || text(listed[0], "approvalId") != approval {
				t.Fatalf("pending %v, want %s", listed, approval)
			}
			server.want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", object{"decision": "accept"})
			if status := resumed.waitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
			if status := resumed.waitTurn(server.send(session, "MOCK_REPLY[still here]")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			server.stop()
			s.requireNoOrphans()
			s.foldJournal(session) // gap-free
		})
	}
}

func (i *instance) runtimePID() int {
	i.t.Helper()
	_, health := i.call(http.MethodGet, "/api/health", nil)
	pid, _ := health["codex"].(object)["pid"].(float64)
	return int(pid)
}
