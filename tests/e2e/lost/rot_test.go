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

	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// After a kill, one bit of SQLite's log is flipped. Every acknowledged entry is there, and the log and a metric
// report the repair. The server and a backup refuse a damaged block by name, without changing anything.
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
	file, err := os.ReadFile(filepath.Join(s.DataDir, "harness.db"))
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
		if code, said := s.Command(args...); code != 1 || !strings.Contains(said, "frame") || !strings.Contains(said, "doctor --salvage") {
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
	audited(s, server, "store.mended", `"frames":1`)
	if code, said := s.Command("doctor", "--salvage"); code != 1 || !strings.Contains(said, "already using") {
		t.Errorf("what a server uses is salvaged: %d %s", code, said)
	}

	server.Kill()
	s.EndRuntimes()
	block = bytes.Clone(whole)
	copy(block[end-end/10:], bytes.Repeat([]byte{0xa5}, 600))
	for name, content := range map[string][]byte{"": file, "-wal": block, "-synced": synced} {
		if err := os.WriteFile(filepath.Join(s.DataDir, "harness.db"+name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	salvaged(t, s, session, block, entries)
}

// audited waits until the audit log has a row of a kind with these texts.
func audited(s *programtest.Site, server *programtest.Server, kind, words string) {
	s.T.Helper()
	server.Eventually("does the audit log have "+kind, func() bool {
		said := s.MustRun("audit", "export")
		return strings.Contains(said, kind) && strings.Contains(said, words)
	})
}

// salvaged checks that the server sets a damaged log aside without losing it, and continues with the data before the
// damage.
func salvaged(t *testing.T, s *programtest.Site, session string, block []byte, entries int) {
	t.Helper()
	if said := s.MustRun("doctor", "--salvage"); !strings.Contains(said, "frame") || !strings.Contains(said, "copied to") {
		t.Errorf("it says %s", said)
	}
	aside, err := filepath.Glob(filepath.Join(s.DataDir, ".replaced-*", "harness.db-wal"))
	if err != nil || len(aside) != 1 {
		t.Fatalf("the log is set aside as %v (%v)", aside, err)
	}
	if kept, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(kept, block) {
		t.Errorf("what is set aside is another log (%v)", err)
	}
	server := s.Start()
	if found := len(server.Entries(session, "ci")); found == 0 || found >= entries {
		t.Errorf("%d of %d entries are there, some of them stand before the damage", found, entries)
	}
	server.Stop()
	if code, said := s.Command("doctor", "--salvage"); code != 1 || !strings.Contains(said, "nothing to salvage") {
		t.Errorf("of a whole log it says %d %s", code, said)
	}
}

// No reader gets a row that differs from what was written. Each read reports the damage and returns the other rows.
// The server reports it in its log, in health and in a metric, and the doctor names the row.
func TestADamagedRowIsNeverShown(t *testing.T) {
	t.Parallel()
	s := scriptedSite(t)
	server := s.Start()
	session := server.CreateSession(nil)
	note := func(id, text string) {
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/transcript/upsert",
			programtest.Object{"messageId": id, "turnId": "t", "role": "system", "type": "ci", "content": text, "status": "complete"})
	}
	for _, id := range []string{"m0", "m1", "m2"} {
		note(id, "the text of "+id)
	}
	server.Stop()
	if said := s.MustRun("doctor", "--scrub"); !strings.Contains(said, "all are as they were written") || !strings.Contains(said, "say the same") {
		t.Errorf("of whole rows the doctor says %s", said)
	}
	db := dbtest.Connect(t, s.Store())
	if _, err := db.Raw().ExecContext(t.Context(),
		`update journal_events set payload = replace(payload, 'text of m1', 'TEXT of m1') where item_id = 'm1'`); err != nil {
		t.Fatal(err)
	}
	var pos int64
	if err := db.Read().QueryRowContext(t.Context(), `select pos from journal_events where item_id = 'm1'`).Scan(&pos); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	row := fmt.Sprintf("journal_events: row %d is damaged", pos)
	if code, said := s.Command("doctor", "--scrub"); code != 1 || !strings.Contains(said, row) {
		t.Errorf("the doctor says %d %s", code, said)
	}

	server = s.Start()
	frame := server.Follow("threadId="+session+"&after=0").Find("the damaged event", func(f programtest.Frame) bool {
		return f.Type == "event_damaged"
	})
	if said := fmt.Sprint(frame.Decoded()); !strings.Contains(said, fmt.Sprint(pos)) {
		t.Errorf("the stream shows %s", said)
	}
	shown := map[string]string{}
	for _, entry := range server.Transcript(session) {
		shown[programtest.Text(entry, "messageId")] = programtest.Text(entry, "type") + ": " + programtest.Text(entry, "content")
	}
	if shown["m0"] != "ci: the text of m0" || shown["m2"] != "ci: the text of m2" || !strings.HasPrefix(shown["m1"], "damaged: ") {
		t.Errorf("the transcript shows %v", shown)
	}
	server.Eventually("does health say that a row is damaged", func() bool {
		health := server.Want(http.StatusOK, http.MethodGet, "/api/health", nil)
		return health["status"] == "degraded" && programtest.Text(health, "store", "state") == "damaged"
	})
	audited(s, server, "store.damaged", fmt.Sprintf(`"row":"%d"`, pos))
	if rows := server.Metric("harness_database_damaged_rows"); rows != 1 || !server.Logged("journal_events", "is damaged and is not shown") {
		t.Errorf("%v rows are damaged, and the log says so: %t", rows, server.Logged("journal_events"))
	}
	note("m1", "the text of m1")
	if found := server.Entries(session, "ci"); len(found) != 3 {
		t.Errorf("after the entry was written again the transcript has %v", found)
	}
}
