package journal_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// A process whose node was taken over writes nothing afterwards, whatever it has in progress. Owned is not called until
// there is a takeover.
func TestAFencedWriterWritesNothing(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.Postgres)
	errLost := errors.New("another process owns it")
	var asked atomic.Int32
	var lost atomic.Bool
	fenced := start(t, db, journal.Options{CheckOwned: func(context.Context, database.Tx) error {
		asked.Add(1)
		if lost.Load() {
			return errLost
		}
		return nil
	}})
	other := start(t, db, journal.Options{})
	for range 3 {
		if _, err := fenced.Append(t.Context(), journal.Event{Type: "mine"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times, want once at the start", n)
	}
	// While the other process holds the head, the first one waits for it. It must then read what the other one wrote.
	holding, submitted := make(chan struct{}), make(chan error, 1)
	go func() {
		<-holding
		_, err := fenced.Append(t.Context(), journal.Event{Type: "late"})
		submitted <- err
	}()
	_, err := other.Commit(t.Context(), func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		lost.Store(true)
		close(holding)
		for waiting := 0; waiting == 0; { // until the other writer waits for the row
			if err := tx.QueryRowContext(ctx, `select count(*) from pg_locks where not granted`).Scan(&waiting); err != nil {
				return nil, err
			}
		}
		return []journal.Event{{Type: "taken"}}, journal.CountTakeover(ctx, tx)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-submitted; !errors.Is(err, errLost) {
		t.Errorf("the late write got %v", err)
	}
	if _, err := fenced.Append(t.Context(), journal.Event{Type: "later"}); !errors.Is(err, errLost) {
		t.Errorf("a later write got %v", err)
	}
	records, err := other.Read(t.Context(), journal.Query{})
	if err != nil || len(records) != 4 || records[3].Type != "taken" {
		t.Errorf("stored are %v, %v", records, err)
	}
}
