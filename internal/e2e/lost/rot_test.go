package lost

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/programtest"
)

// After a kill a bit of SQLite's log is another one: every acknowledged entry is there, and the log and a metric say that
// it was put right. A damaged block is refused by name, with nothing changed, by the server and by a backup.
func TestADamagedLogLosesNoAcknowledgedWrite(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	const entries = 60
	for i := range entries {
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upsert",
			programtest.Object{"messageId": fmt.Sprint("m", i), "turnId": "t", "role": "system", "type": "ci", "content": "acknowledged", "status": "complete"})
	}
	server.Kill()
	s.EndRuntimes()
	log, mark := filepath.Join(s.DataDir, "harness.db-wal"), filepath.Join(s.DataDir, "harness.db-synced")
	whole, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	synced, err := os.ReadFile(mark)
	if err != nil {
		t.Fatal(err)
	}
	end := int(binary.BigEndian.Uint64(synced[16:]))
	if end < 100_000 || end > len(whole) {
		t.Fatalf("%d of %d bytes of the log are noted as synced", end, len(whole))
	}

	block := bytes.Clone(whole)
	copy(block[end/2:], bytes.Repeat([]byte{0xa5}, 600))
	if err := os.WriteFile(log, block, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--port", "0"}, {"backup", filepath.Join(t.TempDir(), "b")}, {"migrate"}} {
		if code, said := s.Command(args...); code != 1 || !strings.Contains(said, "frame") || !strings.Contains(said, "harness.db-synced") {
			t.Errorf("%v: %d %s", args, code, said)
		}
	}
	if now, err := os.ReadFile(log); err != nil || !bytes.Equal(now, block) {
		t.Errorf("the damaged log was changed (%v)", err)
	}

	flipped := bytes.Clone(whole)
	flipped[end/2] ^= 1
	if err := os.WriteFile(log, flipped, 0o600); err != nil {
		t.Fatal(err)
	}
	server = s.Start()
	if found := len(server.Entries(session, "ci")); found != entries {
		t.Errorf("%d of %d acknowledged entries are there", found, entries)
	}
	if frames := server.Metric("harness_database_mended_frames_total"); frames != 1 || !server.Logged("put right") {
		t.Errorf("%v frames were mended, and the log says so: %t", frames, server.Logged("put right"))
	}
}
