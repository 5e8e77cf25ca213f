package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"harness/database"
)

// oneKiB is the text of an entry.
var oneKiB = strings.Repeat("content of an entry, ", 49)[:1024]

// rate is what a load reached.
type rate struct {
	perSecond float64
	p50, p99  float64 // ms
	cpu       float64 // µs of the server per operation
}

// drive runs do on n clients for a while, after a tenth of it as warm-up.
func drive(n int, length time.Duration, cpu func() time.Duration, newClient func(int) (do func(i int) error, done func(), err error)) (rate, error) {
	var (
		counting atomic.Bool
		stopping atomic.Bool
		group    sync.WaitGroup
		mu       sync.Mutex
		times    []time.Duration
		failed   error
	)
	for client := range n {
		do, done, err := newClient(client)
		if err != nil {
			stopping.Store(true)
			group.Wait()
			return rate{}, err
		}
		group.Go(func() {
			defer done()
			var mine []time.Duration
			for i := 0; !stopping.Load(); i++ {
				counted := counting.Load()
				began := time.Now()
				if err := do(i); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					stopping.Store(true)
					return
				}
				if counted && !stopping.Load() {
					mine = append(mine, time.Since(began))
				}
			}
			mu.Lock()
			times = append(times, mine...)
			mu.Unlock()
		})
	}
	time.Sleep(length / 5)
	began, used := time.Now(), cpu()
	counting.Store(true)
	time.Sleep(length)
	stopping.Store(true)
	took, spent := time.Since(began), cpu()-used
	group.Wait()
	if failed != nil || len(times) == 0 {
		return rate{}, fmt.Errorf("no result: %v", failed)
	}
	return rate{float64(len(times)) / took.Seconds(), quantile(times, 0.5), quantile(times, 0.99), float64(spent.Microseconds()) / float64(len(times))}, nil
}

func noCPU() time.Duration { return 0 }

// upsertLoad posts upserts of new messages, or of ones among the first existing when that is not 0.
func upsertLoad(s *server, clients, existing int, length time.Duration) (rate, error) {
	return drive(clients, length, s.cpu, func(client int) (func(int) error, func(), error) {
		c, err := dial(s.url)
		if err != nil {
			return nil, nil, err
		}
		run := rand.Uint32()
		return func(i int) error {
			message := fmt.Sprintf("new-%08x-%02d-%08d", run, client, i)
			content := oneKiB
			if existing > 0 {
				message = fmt.Sprintf("old-%08d", rand.IntN(existing))
				content = fmt.Sprintf("%08d%s", i, oneKiB[8:])
			}
			return c.call(s.upsert(message, content))
		}, c.close, nil
	})
}

// bareLoad inserts the same rows in this process: one statement per row, the rows of all waiting clients in one transaction. It is what
// the store can do when nothing else is done.
func bareLoad(db *database.DB, clients int, length time.Duration) (rate, error) {
	grouped := newGroup(db)
	defer grouped.stop()
	return drive(clients, length, noCPU, func(client int) (func(int) error, func(), error) {
		run := rand.Uint32()
		return func(i int) error {
			return grouped.insert(fmt.Sprintf("new-%08x-%02d-%08d", run, client, i), oneKiB)
		}, func() {}, nil
	})
}

func upserts(opts *options) error {
	t := newTable("Upserts of new 1 KiB entries per second (bare: one INSERT per entry, group-committed, in process)",
		"store", "clients", "bare INSERT/s", "bare over HTTP/s", "upserts/s", "ratio", "ratio over HTTP", "p50 ms", "p99 ms", "server CPU µs")
	for _, e := range opts.engines() {
		for _, clients := range []int{1, 32} {
			s, err := newStore(opts, e)
			if err != nil {
				return err
			}
			db, err := s.open()
			if err != nil {
				return err
			}
			bare, err := bareLoad(db, clients, opts.length)
			if err != nil {
				return err
			}
			overHTTP, err := bareHTTPLoad(db, clients, opts.length)
			if err != nil {
				return err
			}
			if err := db.Close(); err != nil {
				return err
			}
			running, err := serve(opts, s)
			if err != nil {
				return err
			}
			got, err := upsertLoad(running, clients, 0, opts.length)
			running.stop()
			if err != nil {
				return err
			}
			t.add(e.name, clients, bare.perSecond, overHTTP.perSecond, got.perSecond, got.perSecond/bare.perSecond, got.perSecond/overHTTP.perSecond, got.p50, got.p99, got.cpu)
		}
	}
	t.print()
	return nil
}
