package main

import "fmt"

// upsertRounds is how often each variant runs. The machine's speed drifts, so each ratio is computed within a round,
// and the result is the median of the ratios.
const upsertRounds = 3

// The ways to store an entry that upserts compares.
const (
	bareWay     = iota // one INSERT per entry, in this process
	bareHTTPWay        // the same behind net/http
	bothWay            // both rows of an upsert, entry and event, in this process
	bothHTTPWay        // the same behind net/http
	oneWay             // the product, one entry per request
	manyWay            // the product, many entries per request
	upsertWays
)

// contest has all ways on one store with a number of clients, each on a separate database.
type contest struct {
	ways   [upsertWays]func() (rate, error)
	rounds [upsertRounds][upsertWays]rate
	stops  []func()
}

func newContest(opts *options, e engine, clients int) (c *contest, err error) {
	c = &contest{}
	length := opts.length / upsertRounds
	for i, rows := range []string{"one", "both"} {
		inside, err := newStore(opts, e)
		if err != nil {
			return c, err
		}
		db, err := inside.open()
		if err != nil {
			return c, err
		}
		grouped := newGroup(db, rows == "both")
		c.stops = append(c.stops, func() {
			grouped.stop()
			_ = db.Close()
		})
		behind, err := newStore(opts, e)
		if err != nil {
			return c, err
		}
		if db, err := behind.open(); err != nil {
			return c, err
		} else if err := db.Close(); err != nil {
			return c, err
		}
		server, err := startInserts(behind, rows)
		if err != nil {
			return c, err
		}
		c.stops = append(c.stops, server.stop)
		c.ways[bareWay+2*i] = func() (rate, error) { return bareLoad(grouped, clients, length) }
		c.ways[bareHTTPWay+2*i] = func() (rate, error) { return bareHTTPLoad(behind, server, clients, length) }
	}
	running, err := serve(opts, e)
	if err != nil {
		return c, err
	}
	c.stops = append(c.stops, running.stop)
	c.ways[oneWay] = func() (rate, error) { return upsertLoad(running, clients, 0, oneKiB, length) }
	c.ways[manyWay] = func() (rate, error) { return manyLoad(running, clients, perRequest, oneKiB, length) }
	return c, nil
}

func (c *contest) run() error {
	for round := range c.rounds {
		for way, load := range c.ways {
			got, err := load()
			if err != nil {
				return err
			}
			c.rounds[round][way] = got
		}
	}
	return nil
}

func (c *contest) stop() {
	for _, stop := range c.stops {
		stop()
	}
}

// of returns the median of a figure of one way.
func (c *contest) of(way int, figure func(rate) float64) float64 {
	return c.over(func(round [upsertWays]rate) float64 { return figure(round[way]) })
}

// ratio returns the median of the rounds' ratios of throughput.
func (c *contest) ratio(way, to int) float64 {
	return c.over(func(round [upsertWays]rate) float64 { return round[way].perSecond / round[to].perSecond })
}

func (c *contest) over(of func([upsertWays]rate) float64) float64 {
	var values [upsertRounds]float64
	for i, round := range c.rounds {
		values[i] = of(round)
	}
	return middle(values[:])
}

func upserts(opts *options) error {
	t := newTable("Upserts of new 1 KiB entries per second (bare: one INSERT per entry, group-committed, in process)",
		"store", "clients", "bare INSERT/s", "bare over HTTP/s", "upserts/s", "ratio", "ratio over HTTP", "p50 ms", "p99 ms",
		"server CPU µs", "Postgres CPU µs", "client CPU µs")
	many := newTable(fmt.Sprintf(
		"Many entries a request: new 1 KiB entries per second in requests of 1 and of %d entries (bare: as above; ratios "+
			"to the bare INSERT; p50 and p99 of requests, CPU of entries)",
		perRequest),
		"store", "clients", "bare INSERT/s", "by 1: entries/s", "ratio", fmt.Sprintf("by %d: entries/s", perRequest), "ratio",
		"p50 ms", "p99 ms", "server CPU µs", "Postgres CPU µs", "client CPU µs")
	rest := newTable("Where the rest goes: the same INSERT, then the two rows an upsert writes (entry and event), "+
		"each in process and behind net/http (ratios to the bare INSERT; CPU with that of Postgres)",
		"store", "clients", "bare over HTTP", "its CPU µs", "both rows", "both rows over HTTP", "its CPU µs", "upserts",
		"its CPU µs", "ratio to both rows over HTTP")
	var (
		speed  = func(r rate) float64 { return r.perSecond }
		p50    = func(r rate) float64 { return r.p50 }
		p99    = func(r rate) float64 { return r.p99 }
		cpu    = func(r rate) float64 { return r.cpu }
		stored = func(r rate) float64 { return r.store }
		client = func(r rate) float64 { return r.client }
		all    = func(r rate) float64 { return r.cpu + r.store }
	)
	for _, e := range opts.engines() {
		for _, clients := range []int{1, 32} {
			if opts.clients != 0 && opts.clients != clients {
				continue
			}
			c, err := newContest(opts, e, clients)
			if err == nil {
				err = c.run()
			}
			c.stop()
			if err != nil {
				return err
			}
			t.add(e.name, clients, c.of(bareWay, speed), c.of(bareHTTPWay, speed), c.of(oneWay, speed), c.ratio(oneWay, bareWay),
				c.ratio(oneWay, bareHTTPWay), c.of(oneWay, p50), c.of(oneWay, p99), c.of(oneWay, cpu), c.of(oneWay, stored),
				c.of(oneWay, client))
			many.add(e.name, clients, c.of(bareWay, speed), c.of(oneWay, speed), c.ratio(oneWay, bareWay), c.of(manyWay, speed),
				c.ratio(manyWay, bareWay), c.of(manyWay, p50), c.of(manyWay, p99), c.of(manyWay, cpu), c.of(manyWay, stored),
				c.of(manyWay, client))
			rest.add(e.name, clients, c.ratio(bareHTTPWay, bareWay), c.of(bareHTTPWay, all), c.ratio(bothWay, bareWay),
				c.ratio(bothHTTPWay, bareWay), c.of(bothHTTPWay, all),
				c.ratio(oneWay, bareWay), c.of(oneWay, all), c.ratio(oneWay, bothHTTPWay))
		}
	}
	t.print()
	many.print()
	rest.print()
	return nil
}
