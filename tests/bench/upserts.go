package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// oneKiB is the text of an entry.
var oneKiB = strings.Repeat("content of an entry, ", 49)[:1024]

// perRequest is the number of entries in a request of manyLoad.
const perRequest = 32

// rate is the result of a load.
type rate struct {
	perSecond float64
	p50, p99  float64 // ms
	cpu       float64 // µs of the server per operation
	store     float64 // µs of Postgres per operation
	client    float64 // µs of the generator per operation
}

// drive runs do on n clients for a while, after a warm-up of a tenth of that time.
func drive(n int, length time.Duration, cpu func() time.Duration,
	newClient func(int) (do func(i int) error, done func(), err error)) (rate, error) {
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
	return rate{perSecond: float64(len(times)) / took.Seconds(), p50: quantile(times, 0.5), p99: quantile(times, 0.99),
		cpu: float64(spent.Microseconds()) / float64(len(times))}, nil
}

func noCPU() time.Duration { return 0 }

// template renders requests that differ in a few bytes: the messages' names and the first bytes of the first content.
type template struct {
	bytes    []byte
	names    []int // their offsets
	contents int
}

// anyName is a name to overwrite. It occurs nowhere else in a request.
var anyName = strings.Repeat("n", len("new-00000000-00-00000000"))

// newTemplate splits a request rendered with anyName and with content that starts like oneKiB.
func newTemplate(rendered []byte) *template {
	t := &template{bytes: rendered, contents: bytes.Index(rendered, []byte(oneKiB[:64]))}
	for at := 0; ; at += len(anyName) {
		next := bytes.Index(rendered[at:], []byte(anyName))
		if next < 0 {
			return t
		}
		at += next
		t.names = append(t.names, at)
	}
}

// fill writes other names, unique to each c.
func (t *template) fill(kind string, a, b, c uint64) []byte {
	for i, at := range t.names {
		name := append(t.bytes[at:at], kind...)
		name = append(appendDigits(name, a, 8), '-')
		name = append(appendDigits(name, b, 2), '-')
		appendDigits(name, c*uint64(len(t.names))+uint64(i), 8)
	}
	return t.bytes
}

func appendDigits(dst []byte, value uint64, digits int) []byte {
	at := len(dst) + digits
	dst = dst[:at]
	for range digits {
		at--
		dst[at] = '0' + byte(value%10)
		value /= 10
	}
	return dst
}

// manyLoad posts requests with a number of new messages each. Its rate and CPU time are per entry; its latencies are
// per request.
func manyLoad(s *server, clients, entries int, content string, length time.Duration) (rate, error) {
	run := uint64(rand.Uint32N(100_000_000))
	made := newTemplate(s.upserts(slices.Repeat([]string{anyName}, entries), content))
	g, err := newGenerator(s.url, clients, func(client, i int) []byte {
		return made.fill("new-", run, uint64(client), uint64(i))
	})
	if err != nil {
		return rate{}, err
	}
	got, err := g.run(length, s.cpu, s.store.cpu)
	each := float64(entries)
	got.perSecond, got.cpu, got.store, got.client = got.perSecond*each, got.cpu/each, got.store/each, got.client/each
	return got, err
}

// upsertLoad posts upserts of new messages, or of existing messages if existing is not 0. Each client uses separate
// messages, so that no two upserts in one transaction update the same row.
func upsertLoad(s *server, clients, existing int, content string, length time.Duration) (rate, error) {
	run := uint64(rand.Uint32N(100_000_000))
	made := newTemplate(s.upsert(anyName, content))
	g, err := newGenerator(s.url, clients, func(client, i int) []byte {
		if existing == 0 {
			return made.fill("new-", run, uint64(client), uint64(i))
		}
		// Positions all over the table, in an order that visits all of them before it repeats one.
		mine := existing / clients
		message := client*mine + (i*7919)%mine
		appendDigits(made.bytes[made.contents:made.contents], uint64(i), 8)
		return made.fill("old-", 0, 0, uint64(message))
	})
	if err != nil {
		return rate{}, err
	}
	return g.run(length, s.cpu, s.store.cpu)
}
