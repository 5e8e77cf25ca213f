package journal_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/polling"
)

func TestPruneMovesTheOldestPosition(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		if _, err := j.Append(t.Context(), make([]journal.Event, 50)...); err != nil {
			t.Fatal(err)
		}
		deleted, err := j.Prune(t.Context(), 10)
		if err != nil || deleted != 40 {
			t.Fatalf("deleted %d, %v", deleted, err)
		}
		oldest, head, err := j.Bounds(t.Context())
		if err != nil || oldest != 41 || head != 50 {
			t.Fatalf("bounds %d..%d, %v", oldest, head, err)
		}
		if deleted, err := j.Prune(t.Context(), 10); deleted != 0 || err != nil {
			t.Fatalf("a second prune deleted %d, %v", deleted, err)
		}
		records, err := j.Append(t.Context(), journal.Event{})
		if err != nil || records[0].Pos != 51 {
			t.Fatalf("%+v, %v", records, err)
		}
	})
}

// Events are pruned by age, up to the first young one. An event whose clock was wrong, ahead or behind, does not change
// that.
func TestPruneByAge(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		now := time.UnixMilli(1_000_000_000_000)
		const day = 24 * 3600 * 1000
		j := start(t, db, journal.Options{Now: func() time.Time { return now }})
		cutoff := now.UnixMilli() - 90*day
		var events []journal.Event
		for i := range 1300 {
			at := cutoff - 1300 + int64(i) // all old
			if i == 20 {
				at = now.UnixMilli() + 900*day
			}
			events = append(events, journal.Event{Time: at})
		}
		for _, at := range []int64{cutoff, 1, now.UnixMilli()} {
			events = append(events, journal.Event{Time: at})
		}
		for chunk := range slices.Chunk(events, 500) {
			if _, err := j.Append(t.Context(), chunk...); err != nil {
				t.Fatal(err)
			}
		}
		if deleted, err := j.PruneBefore(t.Context(), cutoff); err != nil || deleted != 1300 {
			t.Fatalf("deleted %d, %v", deleted, err)
		}
		if oldest, head, err := j.Bounds(t.Context()); err != nil || oldest != 1301 || head != 1303 {
			t.Fatalf("bounds %d..%d, %v", oldest, head, err)
		}
		if deleted, err := j.PruneBefore(t.Context(), now.UnixMilli()+1); err != nil || deleted != 2 {
			t.Fatalf("deleted %d of the rest, %v", deleted, err)
		}
		records, err := j.Append(t.Context(), journal.Event{})
		if err != nil || records[0].Pos != 1304 {
			t.Fatalf("%+v, %v", records, err)
		}
		if oldest, _, err := j.Bounds(t.Context()); err != nil || oldest != 1303 {
			t.Fatalf("oldest %d, %v", oldest, err)
		}
	})
}

// Pruning deletes few events at a time, and concurrent writers get their turn in between, not after the last of many
// transactions.
func TestPruningLetsWritersIn(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		for range 10 {
			if _, err := j.Append(t.Context(), make([]journal.Event, 1000)...); err != nil {
				t.Fatal(err)
			}
		}
		written, last, chunks := make(chan error, 1), int64(1), 0
		between := false
		j.BeforePrune(func(_ context.Context, _ database.Tx, below int64) error {
			if below-last > 500 {
				t.Errorf("one transaction prunes %d events", below-last)
			}
			last = below
			if chunks++; chunks == 1 {
				go func() {
					_, err := j.Append(t.Context(), journal.Event{})
					written <- err
				}()
			}
			between = between || len(written) > 0
			return nil
		})
		if _, err := j.Prune(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := <-written; err != nil || !between || chunks < 19 {
			t.Errorf("of %d transactions the writer came in between: %v (%v)", chunks, between, err)
		}
	})
}

// A process that ends after moving the oldest position leaves rows behind. No reader gets them as events, whichever way
// it reads, and the next pruning deletes them.
func TestRowsThatPruningLeftBehindAreNoEvents(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		delta := journal.Event{SessionID: "s", ItemID: "i", Type: "runtime.notification", Meta: []byte(`{"text":{}}`)}
		long := journal.Event{SessionID: "s", Payload: []byte(`"` + strings.Repeat("x", 2*database.PartBytes) + `"`)}
		events := slices.Concat([]journal.Event{long}, slices.Repeat([]journal.Event{delta}, 59))
		if _, err := j.Append(t.Context(), events...); err != nil {
			t.Fatal(err)
		}
		if err := db.Update(t.Context(), func(tx database.Tx) error {
			_, err := tx.ExecContext(t.Context(), `update journal_head set oldest = 31 where id = 1`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		kept := func() {
			t.Helper()
			for what, read := range map[string]func() ([]journal.Record, error){
				"all": func() ([]journal.Record, error) { return j.Read(t.Context(), journal.Query{}) },
				"all, short": func() ([]journal.Record, error) {
					return j.Read(t.Context(), journal.Query{Short: true})
				},
				"records of a session": func() ([]journal.Record, error) {
					return j.Read(t.Context(), journal.Query{After: 3, Session: "s"})
				},
				"of a session": func() ([]journal.Record, error) { return j.ReadSession(t.Context(), "s", 0, 0) },
				"a stretch": func() ([]journal.Record, error) {
					return j.Browse(t.Context(), journal.Selection{Before: 100, Limit: 100, Backwards: true})
				},
				"the texts of an item": func() ([]journal.Record, error) {
					return j.ReadDeltas(t.Context(), db.Read(), "s", "i")
				},
			} {
				records, err := read()
				if err != nil || len(records) != 30 {
					t.Fatalf("%s: %d events, want 30: %v", what, len(records), err)
				}
				for i := range records {
					if records[i].Pos <= 30 {
						t.Errorf("%s: the event at %d is shown", what, records[i].Pos)
					}
				}
			}
		}
		kept()
		if deleted, err := j.Prune(t.Context(), 30); err != nil || deleted != 30 {
			t.Errorf("%d rows went, want 30: %v", deleted, err)
		}
		kept()
		for table, want := range map[string]int{"journal_events": 30, "journal_parts": 0} {
			if n := ask(t, db, `select count(*) from `+table); n != want {
				t.Errorf("%d rows in %s, want %d", n, table, want)
			}
		}
	})
}

// Rows are deleted without the head: writers do not wait for that, and readers do not see the remaining rows.
func TestPruningDeletesWithoutTheHead(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	j := start(t, db, journal.Options{})
	if _, err := j.Append(t.Context(), make([]journal.Event, 50)...); err != nil {
		t.Fatal(err)
	}
	hold, err := db.Raw().BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if err := hold.QueryRowContext(t.Context(), `select pg_backend_pid() from journal_events where pos = 40 for update`).
		Scan(&pid); err != nil {
		t.Fatal(err)
	}
	type outcome struct {
		deleted int64
		err     error
	}
	pruned := make(chan outcome, 1)
	go func() {
		deleted, err := j.Prune(t.Context(), 10)
		pruned <- outcome{deleted, err}
	}()
	if !polling.Until(time.Minute, func() bool {
		return ask(t, db, `select count(*) from pg_stat_activity where $1 = any(pg_blocking_pids(pid))`, pid) == 1
	}) {
		t.Fatal("nothing waits for the row that is held")
	}
	soon, cancel := context.WithTimeout(t.Context(), 3*time.Second) // shorter than any wait for a lock
	defer cancel()
	if records, err := j.Append(soon, journal.Event{}); err != nil || records[0].Pos != 51 {
		t.Errorf("a write beside pruning: %v", err)
	}
	if records, err := j.Read(soon, journal.Query{}); err != nil || len(records) != 11 || records[0].Pos != 41 {
		t.Errorf("%d events are read, want those from 41 to 51: %v", len(records), err)
	}
	if err := hold.Rollback(); err != nil {
		t.Fatal(err)
	}
	if got := <-pruned; got.err != nil || got.deleted != 40+1 {
		t.Errorf("pruned %d, %v", got.deleted, got.err)
	}
}

// The head is released before the standby has the pruning's commit. No row is deleted before that. If the primary is
// lost at that time, the pruning is lost with it, and nothing else.
func TestPruningLetsGoOfTheHeadEarly(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"the standby comes back": false, "the primary is lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pair, db := replicated(t)
			way := dbtest.NewProxy(t, pair.URL(pair.Primary()))
			j := start(t, dbtest.Connect(t, database.Options{URL: way.URL}), journal.Options{})
			writer := start(t, hasty(t, pair), journal.Options{})
			if _, err := j.Append(t.Context(), make([]journal.Event, 50)...); err != nil {
				t.Fatal(err)
			}
			pair.Isolate()
			pruned := make(chan error, 1)
			go func() {
				_, err := j.Prune(t.Context(), 10)
				pruned <- err
			}()
			if !polling.Until(time.Minute, func() bool { return waits(t, db) == 1 }) {
				t.Fatal("pruning does not wait for the standby")
			}
			soon, cancel := context.WithTimeout(t.Context(), 3*time.Second) // shorter than any wait for a lock
			defer cancel()
			if _, err := writer.Append(soon, journal.Event{}); err != nil {
				t.Errorf("a write while pruning waits for the standby: %v", err)
			}
			if n := ask(t, db, `select count(*) from journal_events`); n != 51 {
				t.Errorf("%d rows are left before the standby has that they go, want 51", n)
			}
			if lost {
				former := pair.Primary()
				pair.Promote()
				if err := way.Lead(pair.URL(pair.Primary())); err != nil {
					t.Fatal(err)
				}
				pair.Kill(former)
				if err := <-pruned; err == nil {
					t.Error("what the standby does not have is pruned")
				}
				if !polling.Until(time.Minute, func() bool {
					oldest, _, err := j.Bounds(t.Context())
					return err == nil && oldest == 1
				}) {
					t.Fatal("the new primary is out of reach, or its oldest event is not the first")
				}
				if records := readAll(t, j); len(records) != 50 {
					t.Errorf("%d events are left, want 50", len(records))
				}
				go func() {
					_, err := j.Prune(t.Context(), 10)
					pruned <- err
				}()
			} else {
				pair.Rejoin()
			}
			if err := <-pruned; err != nil {
				t.Fatal(err)
			}
			after := dbtest.Connect(t, database.Options{URL: pair.URL(pair.Primary())})
			if n := ask(t, after, `select count(*) from journal_events`); n != 10 {
				t.Errorf("%d rows are left, want 10", n)
			}
		})
	}
}
