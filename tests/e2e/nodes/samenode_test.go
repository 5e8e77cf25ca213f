package nodes

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/programtest"
)

// On one Postgres, a copy of a running server's data directory is refused by name and with the remedy. The first
// server does not notice. A killed server gets its node id back immediately. Without the node id file, the copy is a
// separate server.
func TestACopiedDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	first := programtest.New(t, programtest.WithEngine(database.Postgres), programtest.WithEnv("CODEX_BIN=/nowhere/codex"))
	copied := programtest.New(t, programtest.WithDatabaseOf(first), programtest.WithEnv("CODEX_BIN=/nowhere/codex"))
	running := first.Start()
	id := nodeID(first)
	if err := os.MkdirAll(copied.DataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied.DataDir, "node-id"), []byte(id+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := copied.Command("serve")
	for _, part := range []string{"node " + id + " is already running", "DATA_DIR=" + first.DataDir,
		"delete its file node-id"} {
		if code != 1 || !strings.Contains(out, part) {
			t.Errorf("the copy ended with %d and did not say %q:\n%s", code, part, out)
		}
	}
	running.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)
	running.Kill()
	running = first.Start()
	if strings.Contains(running.Log(), "waiting to see") {
		t.Errorf("the restart after a kill waited: %s", running.LogTail())
	}
	forgetNodeID(copied)
	copied.Start().Stop()
	running.Stop()
}
