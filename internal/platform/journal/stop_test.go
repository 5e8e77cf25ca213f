package journal_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/lifecycletest"
)

func TestStopCommitsWhatWasAcceptedAndRefusesTheRest(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		for round := range 10 {
			j := start(t, db, journal.Options{Queue: 4})
			_, before, err := j.Bounds(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var (
				mu           sync.Mutex
				acknowledged int64
				group        sync.WaitGroup
			)
			running := make(chan struct{}, 8)
			for range 8 {
				group.Go(func() {
					for first := true; ; first = false {
						_, err := j.Append(context.Background(), journal.Event{Type: "x"})
						if errors.Is(err, journal.ErrStopped) {
							return
						}
						if err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						acknowledged++
						mu.Unlock()
						if first {
							running <- struct{}{}
						}
					}
				})
			}
			for range 8 {
				<-running
			}
			group.Go(func() { stop(t, j) })
			stop(t, j)
			group.Wait()
			_, head, err := j.Bounds(t.Context())
			if err != nil || head-before != acknowledged {
				t.Fatalf("round %d: %d events stored, %d acknowledged, %v", round, head-before, acknowledged, err)
			}
			if err := j.Start(t.Context()); !errors.Is(err, journal.ErrStopped) {
				t.Fatal("a stopped journal must not start:", err)
			}
		}
	})
}

func TestAStoppedJournalNeverStarts(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	j := journal.New(db, journal.Options{})
	stop(t, j)
	if _, err := j.Append(t.Context(), journal.Event{}); !errors.Is(err, journal.ErrStopped) {
		t.Fatal(err)
	}
}

func TestACallerThatGaveUpIsNotWritten(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	j := journal.New(db, journal.Options{Queue: 1})
	ctx, cancel := context.WithCancel(t.Context())
	if err := j.Submit(ctx, func(context.Context, database.Tx) ([]journal.Event, error) {
		return []journal.Event{{}}, nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	full, expire := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer expire()
	if err := j.Submit(full, nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal("a full queue must slow its producer:", err)
	}
	cancel()
	if err := j.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, j) })
	records, err := j.Append(t.Context(), journal.Event{})
	if err != nil || records[0].Pos != 1 {
		t.Fatalf("%+v %v", records, err)
	}
}

func TestLifecycle(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, db *database.DB) {
		lifecycletest.Stress(t, func() lifecycletest.Service { return stoppable{journal.New(db, journal.Options{})} })
	})
}

type stoppable struct{ *journal.Journal }

func (s stoppable) Stop() error { return s.Journal.Stop(context.Background()) }
