package crashes

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// direct makes a site with runtimes that are children of its servers.
func direct() programtest.SiteOption { return programtest.WithEnv("HARNESS_DETACH_GRACE_MS=0") }

// The server is killed while a turn waits for an approval. The next server continues with the same codex, the same
// turn and the same approval.
func TestATurnOutlivesItsServer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithRaceDetector(database.SQLite))
			server := s.Start()
			session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
			events := server.Follow("after=0")
			file := filepath.Join(s.Workspace, "made.txt")
			turn := server.Send(session, "MOCK_CMD[touch "+file+"]")
			approval := programtest.Text(events.WaitType("approval").Decoded(), "approvalId")
			pid := server.RuntimePID()
			seen := events.All()
			server.Kill()

			server = s.Start()
			resumed := server.Follow(fmt.Sprintf("after=%d", seen[len(seen)-1].Pos))
			server.WaitRuntime()
			if again := server.RuntimePID(); again != pid {
				t.Errorf("codex is process %d, was %d", again, pid)
			}
			listed := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
			if len(listed) != 1 || programtest.Text(listed[0], "approvalId") != approval {
				t.Fatalf("pending %v, want %s", listed, approval)
			}
			server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+approval+"/decision", programtest.Object{"decision": "accept"})
			if status := resumed.WaitTurn(turn); status != "completed" {
				t.Errorf("the turn ended %s", status)
			}
			if _, err := os.Stat(file); err != nil {
				t.Error(err)
			}
			if status := resumed.WaitTurn(server.Send(session, "MOCK_REPLY[still here]")); status != "completed" {
				t.Errorf("the next turn ended %s", status)
			}
			server.Stop()
			s.RequireNoOrphans()
			s.FoldJournal(session) // no gaps
		})
	}
}
