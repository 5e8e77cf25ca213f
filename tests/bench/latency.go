package main

import (
	"fmt"
	"slices"
)

// latency posts upserts sequentially, 100 per second, and measures the time until the frame of each reaches another
// socket.
func latency(opts *options) error {
	t := newTable("POST upsert to the frame at another socket, 100 a second", "store", "sockets", "p50 ms",
		"p99 ms", "max ms")
	for _, e := range opts.engines() {
		for _, sockets := range []int{1, 100} {
			running, err := serve(opts, e)
			if err != nil {
				return err
			}
			one := &target{name: e.name, child: running.child, publish: func(i int) []byte {
				return running.upsert(fmt.Sprintf("m%08d", i), oneKiB)
			}}
			if one.group, err = join(running.url, sockets, "?threadId="+running.session); err != nil {
				return err
			}
			if _, err := one.run(load{burst: 1, frames: 100 * sockets}, 2*opts.length); err != nil {
				return err
			}
			delays := slices.Clone(one.group.delays)
			one.group.close()
			running.stop()
			t.add(e.name, sockets, quantile(delays, 0.5), quantile(delays, 0.99), quantile(delays, 1))
		}
	}
	t.print()
	return nil
}
