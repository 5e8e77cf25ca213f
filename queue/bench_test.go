package queue_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/migrations"
	"harness/queue"
	"harness/tests/dbtest"
)

// benchQueue is a started queue on a durable store (SQLite with synchronous=FULL; the test cluster of Postgres has
// fsync off).
func benchQueue(b *testing.B, engine database.Engine, edit func(*queue.Options)) *queue.Queue {
	b.Helper()
	opts := dbtest.Options(b, engine)
	db := dbtest.Connect(b, opts)
	if _, err := migrations.Up(b.Context(), db, filepath.Join(b.TempDir(), "lock")); err != nil {
		b.Fatal(err)
	}
	j := journal.New(db, journal.Options{Logger: zerolog.Nop()})
	if err := j.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	options := queue.Options{Journal: j, DB: db, NodeID: "n", Logger: zerolog.Nop(), Drain: time.Millisecond}
	edit(&options)
	q := queue.New(options)
	if err := q.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = q.Stop(ctx)
		_ = j.Stop(ctx)
	})
	return q
}

func percentile(sorted []time.Duration, p float64) float64 {
	return float64(sorted[int(p*float64(len(sorted)-1))].Microseconds()) / 1000
}

// BenchmarkEnqueueToStart measures an idle queue: from the call of Enqueue to the first line of the handler.
func BenchmarkEnqueueToStart(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			started := make(chan time.Time, 1)
			q := benchQueue(b, engine, func(o *queue.Options) {
				o.Definitions = []queue.Definition{{Type: "work", Run: func(context.Context, *queue.Run) (json.RawMessage, error) {
					started <- time.Now()
					return nil, nil
				}}}
			})
			took := make([]time.Duration, 0, b.N)
			for n := 0; b.Loop(); n++ {
				at := time.Now()
				result, err := q.Enqueue(b.Context(),
					queue.Request{Type: "work", ProjectID: fmt.Sprint(n % 50), Payload: json.RawMessage(`{}`)})
				if err != nil {
					b.Fatal(err)
				}
				took = append(took, (<-started).Sub(at))
				if _, err := q.WaitForTerminal(b.Context(), result.Job.ID); err != nil {
					b.Fatal(err)
				}
			}
			slices.Sort(took)
			b.ReportMetric(percentile(took, .5), "p50-ms")
			b.ReportMetric(percentile(took, .99), "p99-ms")
		})
	}
}

// BenchmarkDecisions measures a full queue: 500 active jobs of 50 projects. One operation takes one job through its
// three decisions (enqueue, start, finish). Eight clients keep the queue full.
func BenchmarkDecisions(b *testing.B) {
	for _, engine := range dbtest.Engines() {
		b.Run(string(engine), func(b *testing.B) {
			finished := make(chan struct{}, 1<<20)
			q := benchQueue(b, engine, func(o *queue.Options) {
				o.Policy = queue.Policy{Concurrency: 8, MaxGlobal: 1000}
				o.Definitions = []queue.Definition{{Type: "work", Run: func(context.Context, *queue.Run) (json.RawMessage, error) {
					finished <- struct{}{}
					return nil, nil
				}}}
			})
			put := func(n int) error {
				_, err := q.Enqueue(b.Context(),
					queue.Request{Type: "work", ProjectID: fmt.Sprint(n % 50), Payload: json.RawMessage(`{}`)})
				return err
			}
			// A thousand waiting jobs would exceed the limit; the contract allows 500.
			ahead := make(chan struct{}, 500)
			failed := make(chan error, 8)
			stop, cancel := context.WithCancel(b.Context())
			defer cancel()
			for c := range 8 {
				go func() {
					for n := c; ; n += 8 {
						select {
						case ahead <- struct{}{}:
						case <-stop.Done():
							return
						}
						if err := put(n); err != nil && stop.Err() == nil {
							failed <- err
							return
						}
					}
				}()
			}
			for b.Loop() {
				select {
				case <-finished:
					<-ahead
				case err := <-failed:
					b.Fatal(err)
				}
			}
			b.ReportMetric(3*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}
