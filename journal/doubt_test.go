package journal_test

import (
	"path/filepath"
	"testing"
	"time"

	"harness/database"
	"harness/internal/dbtest"
	"harness/internal/polling"
	"harness/journal"
	"harness/migrations"
)

// A commit whose answer was lost on the way is found out about: what it stored is stored once, also when another process
// has stored something since, and told with the numbers it has.
func TestACommitWhoseAnswerIsLostIsFoundOutAbout(t *testing.T) {
	t.Parallel()
	for name, others := range map[string]int{"the last batch is ours": 0, "another process has stored something since": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := dbtest.NewPair(t)
			db := dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())})
			if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
				t.Fatal(err)
			}
			way := dbtest.NewProxy(t, pair.URL(pair.Primary()))
			ours, theirs := start(t, dbtest.Connect(t, database.Options{URL: way.URL}), journal.Options{}), start(t, db, journal.Options{})
			if _, err := theirs.Append(t.Context(), journal.Event{SessionID: "s", Type: "before"}); err != nil {
				t.Fatal(err)
			}
			waiting := func(event string, n int) {
				t.Helper()
				if !polling.Until(time.Minute, func() bool {
					var found int
					err := db.Read().QueryRowContext(t.Context(), `select count(*) from pg_stat_activity where `+event).Scan(&found)
					return err == nil && found >= n
				}) {
					t.Fatalf("never: %s", event)
				}
			}
			// The commit waits for the standby, and whoever stores something then for the commit.
			pair.Isolate()
			appended := make(chan []journal.Record, 1)
			go func() {
				records, err := ours.Append(t.Context(), journal.Event{SessionID: "s", Type: "in doubt"},
					journal.Event{SessionID: "s", Type: "in doubt"})
				if err != nil {
					t.Error(err)
				}
				appended <- records
			}()
			waiting(`wait_event = 'SyncRep'`, 1)
			stored := make(chan error, others)
			for range others {
				go func() {
					_, err := theirs.Append(t.Context(), journal.Event{SessionID: "s", Type: "since"})
					stored <- err
				}()
			}
			waiting(`wait_event_type = 'Lock'`, others)
			way.Cut()
			way.Mend()
			pair.Rejoin()
			for range others {
				if err := <-stored; err != nil {
					t.Error(err)
				}
			}
			told := <-appended
			all := readAll(t, theirs)
			requireGapFree(t, all)
			if len(all) != 3+others || len(told) != 2 || told[0].Seq != 2 || told[1].Seq != 3 || told[1].Pos != 3 {
				t.Errorf("told were %+v; stored are %+v", told, all)
			}
		})
	}
}
