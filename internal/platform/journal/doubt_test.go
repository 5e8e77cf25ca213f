package journal_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

// A commit whose answer was lost is resolved. Its unit takes effect once, with or without events, even if another
// process has stored something since. Its events are published with their stored numbers.
func TestLostCommitAnswerIsResolved(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ others, events int }{
		"the last batch is ours": {0, 2}, "another process has stored something since": {1, 2},
		"the last batch is ours, without events": {0, 0}, "another process has stored something since one without events": {1, 0},
	} {
		others, events := c.others, make([]journal.Event, c.events)
		for i := range events {
			events[i] = journal.Event{SessionID: "s", Type: "in doubt"}
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair := dbtest.NewPair(t)
			db := dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())})
			if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
				t.Fatal(err)
			}
			way := dbtest.NewProxy(t, pair.URL(pair.Primary()))
			ours, theirs := start(t, dbtest.Connect(t, database.Options{URL: way.URL}), journal.Options{}), start(t, db, journal.Options{})
			pair.Do(`create table times_done (id int)`)
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
			// The commit waits for the standby, and later writers wait for the commit.
			pair.Isolate()
			appended := make(chan []journal.Record, 1)
			err := ours.Submit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				_, err := tx.ExecContext(ctx, `insert into times_done select 1`)
				return events, err
			}, func(records []journal.Record, err error) {
				if err != nil {
					t.Error(err)
				}
				appended <- records
			})
			if err != nil {
				t.Fatal(err)
			}
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
			published := <-appended
			all := readAll(t, theirs)
			requireGapFree(t, all)
			for i := range published {
				if published[i].Seq != int64(2+i) || published[i].Pos != int64(2+i) {
					t.Errorf("ephemeral was %+v", published[i])
				}
			}
			var done int
			if err := db.Read().QueryRowContext(t.Context(), `select count(*) from times_done`).Scan(&done); err != nil || done != 1 {
				t.Errorf("it was done %d times: %v", done, err)
			}
			if len(all) != 1+c.events+others || len(published) != c.events {
				t.Errorf("ephemeral were %+v; stored are %+v", published, all)
			}
		})
	}
}
