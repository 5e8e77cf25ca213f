package main

import (
	"fmt"
	"time"
)

// fanoutRounds is how often each variant runs. The machine's speed drifts, so each ratio is computed within a round,
// and the result is the median of the ratios.
const fanoutRounds = 5

// fanout compares four ways to deliver an event to many sockets. It prints two tables. One has the total cost,
// including receiving the event (and storing it, which only the product does). The other has the cost of the sockets
// only, which shows how an event's cost grows with their number.
func fanout(opts *options) error {
	sizes := []int{200, 1000, 5000}
	if !opts.full {
		sizes = sizes[:2]
	}
	if opts.sockets != 0 {
		sizes = []int{opts.sockets}
	}
	columns := []string{"sockets", "way"}
	for _, l := range loads {
		columns = append(columns, l.name+" CPU", "ratio")
	}
	whole := newTable("Fan-out of one event, 1 KiB of content: CPU µs of the server per delivered frame, taking in "+
		"and storing the event included (ratio to raw writev)",
		append(columns, "saturated k frames/s", "single p99 ms")...)
	alone := newTable("The same, the sockets alone: (CPU µs per event at so many sockets - CPU µs per event at one) / (sockets - 1)",
		columns...)
	for _, size := range sizes {
		if err := compare(opts, size, whole, alone); err != nil {
			return err
		}
	}
	whole.print()
	alone.print()
	return nil
}

// contender is a way under comparison, with its results at one socket and, for each round, at many sockets, by load.
type contender struct {
	*target
	query  string
	one    []measure
	rounds [][]measure
}

func compare(opts *options, size int, whole, alone *table) error {
	all, stop, err := contenders(opts)
	defer stop()
	if err != nil {
		return err
	}
	length := opts.length / 4
	for _, c := range all {
		if c.one, err = c.measure(1, size, length); err != nil {
			return err
		}
	}
	for round := range fanoutRounds {
		// Rotate which contender runs first, because their order is part of the drift.
		for i := range all {
			c := all[(i+round)%len(all)]
			got, err := c.measure(size, size, length)
			if err != nil {
				return err
			}
			c.rounds = append(c.rounds, got)
		}
	}
	raw := all[1]
	for _, c := range all {
		wholeRow, aloneRow := []any{size, c.name}, []any{size, c.name}
		for i := range loads {
			cpu := func(c *contender, round int) float64 { return c.rounds[round][i].cpu }
			each := func(c *contender, round int) float64 {
				return (cpu(c, round)*float64(size) - c.one[i].cpu) / float64(size-1)
			}
			wholeRow = append(wholeRow, c.median(cpu), c.medianRatio(raw, cpu))
			aloneRow = append(aloneRow, c.median(each), c.medianRatio(raw, each))
		}
		wholeRow = append(wholeRow, c.median(func(c *contender, round int) float64 { return c.rounds[round][0].rate / 1000 }),
			c.median(func(c *contender, round int) float64 { return c.rounds[round][1].p99 }))
		whole.add(wholeRow...)
		alone.add(aloneRow...)
	}
	return nil
}

// contenders starts the product and the three baselines. Their events are as long as the product's. The caller must
// always call stop.
func contenders(opts *options) (all []*contender, stop func(), err error) {
	stop = func() {
		for _, c := range all {
			c.child.stop()
		}
	}
	running, first, err := product(opts)
	if err != nil {
		return nil, stop, err
	}
	all = append(all, &contender{target: first, query: "?threadId=" + running.session})
	// The first event shows the length of its frame.
	if first.group, err = join(running.url, 1, all[0].query); err != nil {
		return all, stop, err
	}
	if _, err := first.run(load{burst: 1, frames: 100}, 50*time.Millisecond); err != nil {
		return all, stop, err
	}
	length := int(first.group.length.Load())
	first.group.close()
	for _, way := range []string{"raw", "coder", "gorilla"} {
		other, err := baseline(opts, way, length)
		if err != nil {
			return all, stop, err
		}
		all = append(all, &contender{target: other})
	}
	return all, stop, nil
}

// measure runs every load on a number of sockets, at the pace measured for paced sockets.
func (c *contender) measure(sockets, paced int, length time.Duration) (got []measure, err error) {
	if c.group, err = join(c.child.url, sockets, c.query); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	defer c.group.close()
	for _, l := range loads {
		if l.frames > 0 {
			l.frames = max(1, l.frames*sockets/paced)
		}
		one, err := c.run(l, length)
		if err != nil {
			return nil, fmt.Errorf("%s, %d sockets, %s: %w", c.name, sockets, l.name, err)
		}
		got = append(got, one)
	}
	return got, nil
}

func (c *contender) median(of func(*contender, int) float64) float64 {
	return c.overRounds(func(round int) float64 { return of(c, round) })
}

func (c *contender) medianRatio(bound *contender, of func(*contender, int) float64) float64 {
	return c.overRounds(func(round int) float64 { return of(c, round) / of(bound, round) })
}

func (c *contender) overRounds(of func(round int) float64) float64 {
	values := make([]float64, len(c.rounds))
	for round := range values {
		values[round] = of(round)
	}
	return middle(values)
}
