package nodes

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// A database restored to a point in time has all data acknowledged before it, in order, and nothing later. A client
// with a later cursor gets "ahead".
func TestADatabaseIsRestoredToAPointInTime(t *testing.T) {
	t.Parallel()
	restoresToAPointInTime(t, func(pair *dbtest.Pair) interface{ Restore(at time.Time) string } { return pair.BaseBackup() })
}

// restoresToAPointInTime makes a backup and restores a time after it.
func restoresToAPointInTime(t *testing.T, backUp func(*dbtest.Pair) interface{ Restore(at time.Time) string }) {
	t.Helper()
	pair := dbtest.NewPair(t, "archive_mode=on")
	site := programtest.New(t, programtest.WithDatabase(pair.URL(pair.Primary())), programtest.WithoutAgent())
	server := site.Start()
	add := func(what string) {
		t.Helper()
		for i := range 20 {
			server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": fmt.Sprintf("%s %d", what, i)})
		}
	}
	add("in the base backup")
	backup := backUp(pair)
	add("in the log")
	var at time.Time
	db := dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())})
	if err := db.Read().QueryRowContext(t.Context(), `select clock_timestamp()`).Scan(&at); err != nil {
		t.Fatal(err)
	}
	add("after that")
	seen := server.Follow("after=0")
	last := seen.Find("the last project", func(f programtest.Frame) bool { return strings.Contains(f.Raw, "after that 19") })
	server.Stop()

	url := backup.Restore(at)
	restored := dbtest.Connect(t, database.Options{URL: url})
	records, err := journal.New(restored, journal.Options{}).Read(t.Context(), journal.Query{Limit: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	projects := map[string]int{}
	seqs := map[string]int64{}
	for i, r := range records {
		if seqs[r.SessionID]++; r.Pos != int64(i+1) || r.Seq != seqs[r.SessionID] {
			t.Fatalf("event %d of the journal is %d, number %d of its session", i+1, r.Pos, r.Seq)
		}
		if _, name, made := strings.Cut(string(r.Payload), `"name":"`); made && r.Type == "project_upserted" {
			name, _, _ = strings.Cut(name, `"`)
			projects[strings.TrimRight(name, " 0123456789")]++
		}
	}
	if projects["in the base backup"] != 20 || projects["in the log"] != 20 || projects["after that"] != 0 {
		t.Errorf("there are events of %v", projects)
	}
	server = site.Start("DATABASE_URL=" + url)
	_, listed := server.Ask(http.MethodGet, "/api/projects", nil)
	if !strings.Contains(listed, "in the log 19") || strings.Contains(listed, "after that") {
		t.Errorf("the projects are %.2000s", listed)
	}
	resumed := server.Follow(fmt.Sprintf("after=%d", last.Pos))
	resumed.Find("the frame ahead", func(f programtest.Frame) bool { return strings.Contains(f.Raw, `"ahead"`) })
	add("from now on")
}
