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
)

// While a batch holds the head row every other writer waits, so each round trip delays all of them. A batch takes only
// two: BEGIN with the lock, and the events with COMMIT. Queries of its units come in between; their writes are sent
// with the last one.
func TestABatchTakesFewRoundTrips(t *testing.T) {
	t.Parallel()
	network, db := distantStore(t, 0)
	log := start(t, db, journal.Options{PollInterval: time.Hour})
	note := func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return []journal.Event{{SessionID: "s", Type: "t", Source: "test"}}, noteHead.Exec(ctx, tx, []any{"none", int64(1)})
	}
	ask := func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, tx.QueryRowContext(ctx, `select pos from journal_head where id = $1`, 1).Scan(new(int64))
	}
	for name, c := range map[string]struct {
		units []journal.Unit
		want  int64
	}{
		"events": {[]journal.Unit{func(context.Context, database.Tx) ([]journal.Event, error) {
			return []journal.Event{{Type: "t"}}, nil
		}}, 2},
		"writes and events":        {[]journal.Unit{note}, 2},
		"a question":               {[]journal.Unit{ask}, 3},
		"writes, then a question":  {[]journal.Unit{inTurn(note, note, ask)}, 4},
		"a question, then writes":  {[]journal.Unit{inTurn(ask, note, note)}, 3},
		"two questions and writes": {[]journal.Unit{inTurn(ask, ask, note, note)}, 4},
	} {
		var trips int64
		for range 3 { // the first one prepares statements
			before := network.RoundTrips()
			for _, unit := range c.units {
				if _, err := log.Commit(t.Context(), unit); err != nil {
					t.Fatal(name, err)
				}
			}
			trips = network.RoundTrips() - before
		}
		if trips != c.want {
			t.Errorf("%s: %d round trips, want %d", name, trips, c.want)
		}
	}
	requireGapFree(t, readAll(t, log))
}

// noteHead is any write.
var noteHead = database.NewBulk(`insert into journal_sequences (session_id, seq) select * from ({rows}) as v where true
	on conflict (session_id) do update set seq = journal_sequences.seq`, database.Text, database.Int)

func inTurn(units ...journal.Unit) journal.Unit {
	return func(ctx context.Context, tx database.Tx) (events []journal.Event, err error) {
		for _, unit := range units {
			more, err := unit(ctx, tx)
			if err != nil {
				return nil, err
			}
			events = append(events, more...)
		}
		return events, nil
	}
}

// distantStore returns a Postgres with a network delay.
func distantStore(t testing.TB, delay time.Duration) (*dbtest.Network, *database.DB) {
	t.Helper()
	network := dbtest.NewNetwork(t, dbtest.URL(t, database.Postgres), delay)
	db := dbtest.Connect(t, database.Options{URL: network.URL})
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "migrate.lock")); err != nil {
		t.Fatal(err)
	}
	return network, db
}

// The events per second of two writers on one Postgres that is 1 ms away, so that a round trip takes 2 ms. Transactions
// run one after the other, with one event each.
func BenchmarkTwoWritersOnADistantStore(b *testing.B) {
	network, near := distantStore(b, time.Millisecond)
	far := dbtest.Connect(b, database.Options{URL: network.URL})
	writers := make([]*journal.Journal, 0, 2)
	for _, db := range []*database.DB{near, far} {
		log := journal.New(db, journal.Options{})
		if err := log.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = log.Stop(context.Background()) })
		writers = append(writers, log)
	}
	b.ResetTimer()
	done := make(chan error, len(writers))
	for i, log := range writers {
		go func() {
			var err error
			for n := i; n < b.N && err == nil; n += len(writers) {
				_, err = log.Append(b.Context(), journal.Event{Type: "t", Source: "test"})
			}
			done <- err
		}()
	}
	for range writers {
		if err := <-done; err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
