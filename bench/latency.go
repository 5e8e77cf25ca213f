package main

import (
	"fmt"
	"slices"
	"time"
)

// latency posts upserts one after the other, 100 a second, and times each until its frame is at another socket.
func latency(opts *options) error {
	t := newTable("POST upsert to the frame at another socket, 100 a second", "store", "sockets", "p50 ms", "p99 ms", "max ms")
	for _, e := range opts.engines() {
		for _, sockets := range []int{1, 100} {
			s, err := newStore(opts, e)
			if err != nil {
				return err
			}
			running, err := serve(opts, s)
			if err != nil {
				return err
			}
			one := &target{name: e.name, child: running.child, publish: func(i int) []byte {
				return running.upsert(fmt.Sprintf("m%08d", i), oneKiB)
			}}
			if one.crowd, err = join(running.url, sockets, "?threadId="+running.session); err != nil {
				return err
			}
			if _, err := one.run(load{burst: 1, frames: 100 * sockets}, 2*opts.length); err != nil {
				return err
			}
			delays := slices.Clone(one.crowd.delays)
			one.crowd.close()
			running.stop()
			t.add(e.name, sockets, quantile(delays, 0.5), quantile(delays, 0.99), quantile(delays, 1))
		}
	}
	t.print()
	return nil
}

// stalled measures 1,000 readers with and without one more that never reads.
func stalled(opts *options) error {
	const sockets = 1000
	length := 16 * time.Second // longer than the 10 s a stalled reader is given
	t := newTable("One stalled reader among 1,000, 40 events of 1 KiB a second", "readers", "p50 ms", "p99 ms", "growth of RSS MiB", "the stalled one")
	for _, stall := range []bool{false, true} {
		running, one, err := product(opts)
		if err != nil {
			return err
		}
		if one.crowd, err = join(running.url, sockets, "?threadId="+running.session); err != nil {
			return err
		}
		// Warm: buffers grow once.
		if _, err := one.run(load{burst: 1, frames: 40_000}, 2*time.Second); err != nil {
			return err
		}
		var lazy *lazyReader
		if stall {
			if lazy, err = newLazyReader(running); err != nil {
				return err
			}
		}
		before := running.rss()
		if _, err := one.run(load{burst: 1, frames: 40_000}, length); err != nil {
			return err
		}
		grown := float64(running.rss()-before) / (1 << 20)
		fate, name := "", "1,000"
		if lazy != nil {
			fate, name = lazy.fate(), "1,000 and a stalled one"
		}
		t.add(name, quantile(one.crowd.delays, 0.5), quantile(one.crowd.delays, 0.99), grown, fate)
		one.crowd.close()
		running.stop()
	}
	t.print()
	return nil
}
