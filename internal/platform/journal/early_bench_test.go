package journal_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// The events per second of processes that write to one Postgres with a synchronous standby 1 ms away, with and without
// early release of the head. Rounds of both alternate in one run. In the baseline, the head is held until the standby
// has the batch, with everything else the same. The disk is a real one, and Postgres and each process have their
// default memory.
func BenchmarkWritersBehindAStandby(b *testing.B) {
	const garbage = 24 << 20 // of a server (collectLess)
	for _, c := range []struct{ writers, sessions int }{{1, 128}, {4, 64}, {4, 128}, {4, 256}} {
		b.Run(fmt.Sprintf("%dwriters_%dsessions", c.writers, c.sessions), func(b *testing.B) {
			pair := dbtest.NewPair(b, "fsync=on", "full_page_writes=on", "shared_buffers=128MB")
			pair.Distance(time.Millisecond)
			dbs := make([]*database.DB, c.writers)
			for i := range dbs {
				dbs[i] = dbtest.Connect(b, database.Options{URL: pair.URL(pair.Primary())})
			}
			migrate(b, dbs[0])
			rates := map[bool][]float64{}
			heap := make([]byte, c.writers*garbage)
			defer runtime.KeepAlive(heap)
			for b.Loop() {
				for _, early := range []bool{false, true, true, false} {
					rates[early] = append(rates[early], throughput(b, dbs, c.sessions, early))
				}
			}
			one, early := median(rates[false]), median(rates[true])
			b.ReportMetric(one, "held-events/s")
			b.ReportMetric(early, "early-events/s")
			b.ReportMetric(early/one, "ratio")
		})
	}
}

// throughput returns how many events per second journals on these stores store for a number of sessions that each wait
// for their event.
func throughput(b *testing.B, dbs []*database.DB, sessions int, early bool) float64 {
	b.Helper()
	const round = 3 * time.Second
	payload := []byte(`{"text":"` + strings.Repeat("x", 490) + `"}`)
	var batches atomic.Int64
	opts := journal.Options{Barrier: true, EarlyRelease: func() bool { return early }}
	opts.Hooks.Observe = func(int, int, time.Duration) { batches.Add(1) }
	logs := make([]*journal.Journal, len(dbs))
	for i, db := range dbs {
		opts.Hooks.Announce = func() {
			for other, log := range logs {
				if other != i {
					log.PollNow()
				}
			}
		}
		logs[i] = journal.New(db, opts)
	}
	for i := range logs {
		if err := logs[i].Start(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	var stored atomic.Int64
	var running sync.WaitGroup
	began := time.Now()
	for i := range sessions {
		running.Go(func() {
			session := fmt.Sprintf("s%d", i)
			note := func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
				return []journal.Event{{SessionID: session, Type: "t", Payload: payload}}, nil
			}
			for time.Since(began) < round {
				if _, err := logs[i%len(logs)].Commit(b.Context(), note); err != nil {
					b.Error(err)
					return
				}
				stored.Add(1)
			}
		})
	}
	running.Wait()
	took := time.Since(began)
	for _, log := range logs {
		if err := log.Stop(b.Context()); err != nil {
			b.Error(err)
		}
	}
	b.Logf("early %v: %.0f events/s, %.0f batches/s of %.1f", early, float64(stored.Load())/took.Seconds(),
		float64(batches.Load())/took.Seconds(), float64(stored.Load())/float64(batches.Load()))
	return float64(stored.Load()) / took.Seconds()
}

func median(of []float64) float64 {
	slices.Sort(of)
	return (of[(len(of)-1)/2] + of[len(of)/2]) / 2
}
