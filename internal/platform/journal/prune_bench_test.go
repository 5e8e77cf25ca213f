package journal_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// The cost of pruning for concurrent writers: the time of a write in alternating rounds with and without pruning.
// Dropping partitions would cost nothing, like the rounds without pruning.
func BenchmarkWritesBesidePruning(b *testing.B) {
	pair := dbtest.NewPair(b, "fsync=on", "full_page_writes=on")
	db := dbtest.Connect(b, database.Options{URL: pair.URL(pair.Primary())})
	migrate(b, db)
	log := journal.New(db, journal.Options{})
	if err := log.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	event := journal.Event{SessionID: "s", Type: "t", Payload: []byte(`{"text":"` + strings.Repeat("x", 490) + `"}`)}
	var took [2][]time.Duration // without and with
	var gone int64
	var pruned time.Duration
	for b.Loop() {
		for range 40 {
			if _, err := log.Append(b.Context(), slices.Repeat([]journal.Event{event}, 1000)...); err != nil {
				b.Fatal(err)
			}
		}
		for with := range took {
			ctx, stop := context.WithTimeout(b.Context(), 3*time.Second)
			var pruning sync.WaitGroup
			if with == 1 {
				pruning.Go(func() {
					began := time.Now()
					n, _ := log.Prune(ctx, 1) // it may be interrupted
					gone, pruned = gone+n, pruned+time.Since(began)
				})
			}
			for ctx.Err() == nil {
				began := time.Now()
				if _, err := log.Append(b.Context(), event); err != nil {
					b.Fatal(err)
				}
				took[with] = append(took[with], time.Since(began))
			}
			stop()
			pruning.Wait()
		}
	}
	if err := log.Stop(b.Context()); err != nil {
		b.Fatal(err)
	}
	for with, name := range []string{"alone", "pruning"} {
		slices.Sort(took[with])
		b.ReportMetric(float64(took[with][len(took[with])/2].Microseconds())/1000, name+"-p50-ms")
		b.ReportMetric(float64(took[with][len(took[with])*99/100].Microseconds())/1000, name+"-p99-ms")
	}
	b.ReportMetric(float64(gone)/pruned.Seconds(), "pruned/s")
	b.ReportMetric(float64(took[1][len(took[1])/2])/float64(took[0][len(took[0])/2]), "p50-ratio")
}
