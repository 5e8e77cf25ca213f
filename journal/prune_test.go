package journal_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"harness/database"
	"harness/internal/dbtest"
	"harness/journal"
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

// Events go by their age up to the first young one; one whose clock was wrong, ahead or behind, does not change that.
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

// Pruning takes few events at a time, and who writes meanwhile comes in between: not after the last of many
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
