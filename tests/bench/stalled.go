package main

import (
	"fmt"
	"slices"
	"time"
)

// phase is a measured period of one server, with or without a stalled reader.
type phase struct {
	p50, p99 float64 // ms
	live     float64 // MiB of heap: the minimum of the phase, after a collection
	rss      float64 // MiB at its end
	fate     string
}

// stalled measures 1,000 readers of one server in turn, alone and with one more that never reads. Drift of the
// machine and the heap affects both.
func stalled(opts *options) error {
	const sockets = 1000
	// Frequent collections make the minimum heap of a turn equal to the live heap.
	running, one, err := product(opts, "GOGC=20")
	if err != nil {
		return err
	}
	defer running.stop()
	if one.group, err = join(running.url, sockets, "?threadId="+running.session); err != nil {
		return err
	}
	defer one.group.close()
	flooder := &server{child: running.child, store: running.store}
	if flooder.session, err = running.newSession(); err != nil {
		return err
	}
	t := newTable("One stalled reader among 1,000, 40 events of 1 KiB a second, in turns on one server (ratio and "+
		"growth against the turn beside it)",
		"turn", "alone p50 ms", "p99 ms", "with it p50 ms", "p99 ms", "ratio of p99", "live heap +MiB", "RSS +MiB",
		"the stalled one")
	var ratios, heap, resident []float64
	// The first turn is discarded, because buffers grow once.
	for turn := range stalledTurns + 1 {
		var alone, with phase
		order := []bool{false, true}
		if turn%2 == 0 {
			order = []bool{true, false}
		}
		for _, stall := range order {
			into := &alone
			if stall {
				into = &with
			}
			if *into, err = stalledPhase(running, flooder, one, stall); err != nil {
				return err
			}
		}
		if turn == 0 {
			continue
		}
		ratios = append(ratios, with.p99/alone.p99)
		heap = append(heap, with.live-alone.live)
		resident = append(resident, with.rss-alone.rss)
		t.add(turn, alone.p50, alone.p99, with.p50, with.p99, with.p99/alone.p99, with.live-alone.live,
			with.rss-alone.rss, with.fate)
	}
	t.add("median", "", "", "", "", middle(ratios), middle(heap), middle(resident), "")
	t.print()
	return nil
}

const (
	stalledTurns = 3
	// phaseLength is shorter than the 10 s until the server disconnects a stalled reader, so the reader is present all
	// the time.
	phaseLength = 5 * time.Second
	// stallLimit is longer than the server's timeout for a reader that reads nothing.
	stallLimit = 15 * time.Second
)

func stalledPhase(running, flooder *server, one *target, stall bool) (phase, error) {
	const stalledMetric = `harness_ws_slow_consumers_total{reason="stalled"}`
	var (
		lazy         *lazyReader
		closedBefore float64
		err          error
	)
	if stall {
		if lazy, err = newLazyReader(running); err != nil {
			return phase{}, err
		}
		closedBefore, _ = running.metric(stalledMetric) // the metric does not exist before the first
	}
	// Both phases do the same work. Here it fills the buffers of the stalled reader.
	if err := flooder.flood(4096); err != nil {
		return phase{}, err
	}
	least := make(chan float64)
	stop := make(chan struct{})
	go func() { least <- running.leastHeap(stop) }()
	_, err = one.run(load{burst: 1, frames: 40_000}, phaseLength)
	close(stop)
	got := phase{live: <-least / (1 << 20), rss: float64(running.rss()) / (1 << 20)}
	if err != nil {
		return phase{}, err
	}
	got.p50, got.p99 = quantile(one.group.delays, 0.5), quantile(one.group.delays, 0.99)
	if lazy != nil {
		for deadline := time.Now().Add(stallLimit); ; time.Sleep(100 * time.Millisecond) {
			closed, err := running.metric(stalledMetric)
			if err == nil && closed > closedBefore || time.Now().After(deadline) {
				break
			}
		}
		got.fate = lazy.fate()
	}
	return got, nil
}

// leastHeap samples the bytes of allocated heap until stop is closed and returns the minimum.
func (s *server) leastHeap(stop <-chan struct{}) float64 {
	least := 0.0
	for {
		if now, err := s.metric("go_memstats_heap_alloc_bytes"); err == nil && (least == 0 || now < least) {
			least = now
		}
		select {
		case <-stop:
			return least
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// flood stores entries in the server's session sequentially.
func (s *server) flood(entries int) error {
	c, err := dial(s.url)
	if err != nil {
		return err
	}
	defer c.close()
	for i := range entries {
		if err := c.call(s.upsert(fmt.Sprintf("flood%06d", i), oneKiB)); err != nil {
			return err
		}
	}
	return nil
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
