package journal_test

import (
	"context"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// openUnit submits a unit that others may join, and signals when it has run.
func openUnit(t *testing.T, j *journal.Journal, whole <-chan struct{}) (done chan struct{}) {
	t.Helper()
	done = make(chan struct{})
	unit := func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{{Type: "open", Source: "test"}}, nil
	}
	err := j.SubmitOpen(t.Context(), unit, func(_ []journal.Record, err error) {
		if err != nil {
			t.Error(err)
		}
		close(done)
	}, whole)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// patient returns a journal that waits for others to join an open unit for as long as the test may take.
func patient(t *testing.T) (j *journal.Journal, units chan int) {
	units = make(chan int, 8)
	j = journal.New(dbtest.Open(t, database.SQLite), journal.Options{
		Gather: time.Hour, Hooks: journal.Hooks{Observe: func(n, _ int, _ time.Duration) { units <- n }},
	})
	j.LastCommitTook(2 * time.Hour)
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, j) })
	return j, units
}

func TestAnOpenUnitRunsWhenItIsWhole(t *testing.T) {
	t.Parallel()
	j, units := patient(t)
	whole := make(chan struct{})
	done := openUnit(t, j, whole)
	select {
	case <-done:
		t.Fatal("it ran before it was whole")
	case <-time.After(50 * time.Millisecond):
	}
	close(whole)
	<-done
	if n := <-units; n != 1 {
		t.Fatalf("it was committed with %d units", n)
	}
}

// Other writes do not wait for an open unit, and keep their place after it.
func TestAnOpenUnitGoesWithWhatComesBehindIt(t *testing.T) {
	t.Parallel()
	j, units := patient(t)
	done := openUnit(t, j, make(chan struct{}))
	if _, err := j.Append(t.Context(), journal.Event{Type: "other", Source: "test"}); err != nil {
		t.Fatal(err)
	}
	<-done
	if n := <-units; n != 2 {
		t.Fatalf("the first commit had %d units, want both", n)
	}
	records := readAll(t, j)
	requireGapFree(t, records)
	if len(records) != 2 || records[0].Type != "open" || records[1].Type != "other" {
		t.Fatalf("stored %v", records)
	}
}

// An open unit that no other caller joins waits only for a part of a commit's duration.
func TestAnOpenUnitRunsWithoutItsCompany(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		j := start(t, db, journal.Options{})
		for range 3 {
			<-openUnit(t, j, make(chan struct{}))
		}
	})
}
