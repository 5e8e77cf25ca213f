package main

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/database"
)

// A server whose SQLite file was emptied says so and ends; with the backup put back it has everything again.
func TestAServerDoesNotStartOverWithAnEmptiedDatabase(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEngine(database.SQLite))
	server := s.start()
	server.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "kept"})
	server.stop()

	path := filepath.Join(s.dataDir, "harness.db")
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{"empty": nil, "cut off": backup[:len(backup)/8192*4096]} {
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		refused := s.launch(s.program)
		select {
		case <-refused.exited:
		case <-time.After(patience):
			t.Fatalf("%s: the server goes on:\n%s", name, refused.logTail())
		}
		log := refused.logTail()
		if code := refused.cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(log, "is "+name) ||
			!strings.Contains(log, "put back a backup") {
			t.Errorf("%s: the server ended with %d:\n%s", name, code, log)
		}
		for _, command := range []string{"migrate", "doctor"} {
			if code, out := s.command(command); code != 1 || !strings.Contains(out, "put back a backup") {
				t.Errorf("%s: %s ended with %d: %s", name, command, code, out)
			}
		}
		if found, err := os.ReadFile(path); err != nil || !bytes.Equal(found, broken) {
			t.Errorf("%s: the file was changed (%v)", name, err)
		}
	}

	if err := os.WriteFile(path, backup, 0o600); err != nil {
		t.Fatal(err)
	}
	server = s.start()
	projects := server.want(http.StatusOK, http.MethodGet, "/api/projects", nil)
	if list := projects["data"].([]any); len(list) != 1 || text(list[0], "name") != "kept" {
		t.Errorf("the projects are %v", projects)
	}
	server.stop()
}
