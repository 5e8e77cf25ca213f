package nodes

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/programtest"
)

// A server whose SQLite file was emptied reports this and exits. With the backup restored, it has all data again.
func TestAServerDoesNotStartOverWithAnEmptiedDatabase(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEngine(database.SQLite))
	server := s.Start()
	server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "kept"})
	server.Stop()

	path := filepath.Join(s.DataDir, "harness.db")
	backup, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, broken := range map[string][]byte{"empty": nil, "cut off": backup[:len(backup)/8192*4096]} {
		if err := os.WriteFile(path, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		refused := s.Launch(s.Program)
		select {
		case <-refused.Exited:
		case <-time.After(programtest.Patience):
			t.Fatalf("%s: the server goes on:\n%s", name, refused.LogTail())
		}
		log := refused.LogTail()
		if code := refused.Cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(log, "is "+name) ||
			!strings.Contains(log, "put back a backup") {
			t.Errorf("%s: the server ended with %d:\n%s", name, code, log)
		}
		for _, command := range []string{"migrate", "doctor"} {
			if code, out := s.Command(command); code != 1 || !strings.Contains(out, "put back a backup") {
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
	server = s.Start()
	projects := server.Want(http.StatusOK, http.MethodGet, "/api/projects", nil)
	if list := projects["data"].([]any); len(list) != 1 || programtest.Text(list[0], "name") != "kept" {
		t.Errorf("the projects are %v", projects)
	}
	server.Stop()
}
