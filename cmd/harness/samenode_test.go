package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/database"
)

// On one Postgres a copy of a running server's data directory is refused by name and with the remedy; the first server
// does not notice. One that was killed takes its own node id again at once, and with the node id deleted the copy is a
// server of its own.
func TestACopiedDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	first := newSite(t, withEngine(database.Postgres), withEnv("CODEX_BIN=/nowhere/codex"))
	copied := newSite(t, withDatabaseOf(first), withEnv("CODEX_BIN=/nowhere/codex"))
	running := first.start()
	id := first.nodeID()
	if err := os.MkdirAll(copied.dataDir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(copied.dataDir, "node-id"), []byte(id+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out := copied.command("serve")
	for _, part := range []string{"node " + id + " is already running", "DATA_DIR=" + first.dataDir,
		"delete its file node-id"} {
		if code != 1 || !strings.Contains(out, part) {
			t.Errorf("the copy ended with %d and did not say %q:\n%s", code, part, out)
		}
	}
	running.want(http.StatusOK, http.MethodGet, "/api/sessions", nil)
	running.kill()
	running = first.start()
	if strings.Contains(running.logTail(), "waiting to see") {
		t.Errorf("the restart after a kill waited: %s", running.logTail())
	}
	copied.forgetNodeID()
	copied.start().stop()
	running.stop()
}
