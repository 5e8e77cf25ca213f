package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// pairRounds is how often the two executables run with each load. Each ratio is computed within a round, and the
// result is the median.
const pairRounds = 7

// paired compares the server with another build of it, the one in -before, in turn.
func paired(measure func(*options, engine) error) func(*options) error {
	return func(opts *options) error {
		if opts.before == "" {
			return errors.New("name the other executable with -before")
		}
		for _, e := range opts.engines() {
			if e.synchronous == "NORMAL" {
				continue
			}
			if err := measure(opts, e); err != nil {
				return err
			}
		}
		return nil
	}
}

// pair is both builds, each on a separate store.
type pair [2]*server

func newPair(opts *options, e engine) (p pair, err error) {
	for i, binary := range []string{opts.before, opts.binary} {
		mine := *opts
		mine.binary = binary
		if p[i], err = serve(&mine, e); err != nil {
			p.stop()
			return p, err
		}
	}
	return p, nil
}

func (p pair) stop() {
	for _, s := range p {
		if s != nil {
			s.stop()
		}
	}
}

// rounds runs a load on both builds in turn, and alternates which one runs first.
func (p pair) rounds(load func(build int, s *server) error) error {
	for round := range pairRounds {
		for i := range p {
			build := (i + round) % len(p)
			if err := load(build, p[build]); err != nil {
				return err
			}
		}
	}
	return nil
}

// series is a figure of both builds by round.
type series [2][]float64

func (s *series) note(build int, value float64) { s[build] = append(s[build], value) }

// ratios returns the median and the extremes of the ratio of after to before.
func (s *series) ratios() (middling, lowest, highest float64) {
	all := make([]float64, len(s[0]))
	for i := range all {
		all[i] = s[1][i] / s[0][i]
		if i == 0 || all[i] < lowest {
			lowest = all[i]
		}
		highest = max(highest, all[i])
	}
	return middle(all), lowest, highest
}

func pairSingle(opts *options, e engine) error {
	t := newTable("Single upserts of new 1 KiB entries, this build against the one before, in turns (ratio: after to "+
		"before; medians of the rounds)",
		"store", "clients", "before/s", "after/s", "ratio", "lowest", "highest", "CPU µs before", "after", "ratio",
		"p99 ms before", "after")
	for _, clients := range []int{1, 32} {
		if opts.clients != 0 && opts.clients != clients {
			continue
		}
		if err := pairClients(opts, e, clients, t); err != nil {
			return err
		}
	}
	t.print()
	return nil
}

func pairClients(opts *options, e engine, clients int, t *table) error {
	p, err := newPair(opts, e)
	if err != nil {
		return err
	}
	defer p.stop()
	var speed, cpu, p99 series
	err = p.rounds(func(build int, s *server) error {
		got, err := upsertLoad(s, clients, 0, oneKiB, opts.length/2)
		speed.note(build, got.perSecond)
		cpu.note(build, got.cpu+got.store)
		p99.note(build, got.p99)
		return err
	})
	if err != nil {
		return err
	}
	ratio, lowest, highest := speed.ratios()
	spent, _, _ := cpu.ratios()
	t.add(e.name, clients, middle(speed[0]), middle(speed[1]), ratio, lowest, highest, middle(cpu[0]), middle(cpu[1]),
		spent, middle(p99[0]), middle(p99[1]))
	return nil
}

// pairBeside runs the single clients and the bulk clients in separate sessions.
func pairBeside(opts *options, e engine) error {
	t := newTable("8 clients with single upserts alone, and beside 4 clients that post 1,000 entries of 256 bytes a "+
		"request without a pause (p99 ratio: beside to alone, in the same round)",
		"store", "build", "alone p50 ms", "p99 ms", "beside p50 ms", "p99 ms", "p99 ratio", "bulk entries/s")
	p, err := newPair(opts, e)
	if err != nil {
		return err
	}
	defer p.stop()
	var aloneP50, aloneP99, besideP50, besideP99, bulk series
	err = p.rounds(func(build int, s *server) error {
		alone, err := upsertLoad(s, 8, 0, oneKiB, opts.length/2)
		if err != nil {
			return err
		}
		other := *s
		if other.session, err = s.newSession(); err != nil {
			return err
		}
		type result struct {
			rate
			err error
		}
		flood := make(chan result, 1)
		go func() {
			got, err := manyLoad(&other, 4, 1000, grownContent, opts.length)
			flood <- result{got, err}
		}()
		time.Sleep(opts.length / 4)
		beside, err := upsertLoad(s, 8, 0, oneKiB, opts.length/2)
		flooded := <-flood
		aloneP50.note(build, alone.p50)
		aloneP99.note(build, alone.p99)
		besideP50.note(build, beside.p50)
		besideP99.note(build, beside.p99)
		bulk.note(build, flooded.perSecond)
		return errors.Join(err, flooded.err)
	})
	if err != nil {
		return err
	}
	for build, name := range []string{"before", "after"} {
		grown := make([]float64, pairRounds)
		for i := range grown {
			grown[i] = besideP99[build][i] / aloneP99[build][i]
		}
		t.add(e.name, name, middle(aloneP50[build]), middle(aloneP99[build]), middle(besideP50[build]),
			middle(besideP99[build]), middle(grown), middle(bulk[build]))
	}
	t.print()
	return nil
}

func pairWhole(opts *options, e engine) error {
	t := newTable("Reading the whole of a transcript of 5,000 entries, one client",
		"store", "bytes", "before p50 ms", "after", "ratio", "lowest", "highest", "CPU ms before", "after", "ratio")
	p, err := newPair(opts, e)
	if err != nil {
		return err
	}
	defer p.stop()
	size := 0
	for _, s := range p {
		if err := s.write(5000); err != nil {
			return err
		}
	}
	var p50, cpu series
	err = p.rounds(func(build int, s *server) error {
		c, err := dial(s.url)
		if err != nil {
			return err
		}
		defer c.close()
		get := []byte("GET /api/sessions/" + s.session + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
		var times []time.Duration
		used := s.cpu() + s.store.cpu()
		for began := time.Now(); time.Since(began) < opts.length/2; {
			at := time.Now()
			body, err := c.body(get)
			if err != nil {
				return err
			}
			times = append(times, time.Since(at))
			size = len(body)
		}
		p50.note(build, quantile(times, 0.5))
		cpu.note(build, float64((s.cpu()+s.store.cpu()-used).Microseconds())/1000/float64(len(times)))
		return nil
	})
	if err != nil {
		return err
	}
	ratio, lowest, highest := p50.ratios()
	spent, _, _ := cpu.ratios()
	t.add(e.name, size, middle(p50[0]), middle(p50[1]), ratio, lowest, highest, middle(cpu[0]), middle(cpu[1]), spent)
	t.print()
	return nil
}

// write stores a number of short entries through the API and checks that it can read them back.
func (s *server) write(entries int) error {
	c, err := dial(s.url)
	if err != nil {
		return err
	}
	defer c.close()
	for from := 0; from < entries; from += 1000 {
		var names []string
		for i := from; i < min(from+1000, entries); i++ {
			names = append(names, fmt.Sprintf("old-00000000-00-%08d", i))
		}
		if err := c.call(s.upserts(names, oneKiB[:64])); err != nil {
			return err
		}
	}
	answer, err := c.body([]byte("GET /api/sessions/" + s.session + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))
	if err != nil {
		return err
	}
	var read struct {
		Transcript []struct{ MessageID, Content string }
	}
	if err := json.Unmarshal(answer, &read); err != nil {
		return err
	}
	if len(read.Transcript) != entries || !strings.HasPrefix(read.Transcript[entries-1].Content, "content") {
		return fmt.Errorf("read %d entries of %d", len(read.Transcript), entries)
	}
	return nil
}

// pairTurns plays recorded turns. The cost of a line is the server's CPU time for a turn divided by its lines.
func pairTurns(opts *options, e engine) error {
	t := newTable("Turns of a recorded app-server stream, 8 sessions at once, one socket following all, this build "+
		"against the one before, in turns"+
		" (ratio: after to before; medians of the rounds)",
		"store", "lines per turn", "before turns/s", "after turns/s", "ratio", "CPU µs per line before", "after", "ratio",
		"lowest", "highest")
	for _, repeat := range []int{1, 100} {
		p, err := newPair(opts, e)
		if err != nil {
			return err
		}
		var speed, cpu series
		err = p.rounds(func(build int, s *server) error {
			got, _, err := turnLoad(opts, s, repeat)
			speed.note(build, got.perSecond)
			cpu.note(build, got.cpu/float64(len(replay("t", "u", repeat))))
			return err
		})
		p.stop()
		if err != nil {
			return err
		}
		faster, _, _ := speed.ratios()
		spent, lowest, highest := cpu.ratios()
		t.add(e.name, len(replay("t", "u", repeat)), middle(speed[0]), middle(speed[1]), faster, middle(cpu[0]),
			middle(cpu[1]), spent, lowest, highest)
	}
	t.print()
	return nil
}
