package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// target is one server with a way to make it send an event.
type target struct {
	name    string
	child   *child
	publish func(i int) []byte
	group   *clientGroup
}

// measure is the result of a load.
type measure struct {
	cpu  float64 // µs of the server per delivered frame
	rate float64 // delivered frames per second
	p99  float64 // ms from publishing to the read on a socket, single events only
}

// load is a load mode: how many events are sent together, and the target of frames per second (0: as many as
// possible).
type load struct {
	name   string
	burst  int
	frames int
}

var loads = []load{{"saturated", 16, 0}, {"single", 1, 40_000}, {"burst of 8", 8, 80_000}}

// run publishes for a while. A saturated load keeps burst events in flight. The others wait for the time of the next
// burst and until the last event arrived.
func (t *target) run(l load, length time.Duration) (measure, error) {
	callers := make([]*caller, l.burst)
	for i := range callers {
		c, err := dial(t.child.url)
		if err != nil {
			return measure{}, err
		}
		defer c.close()
		callers[i] = c
	}
	time.Sleep(100 * time.Millisecond)
	t.group.reset(l.burst == 1)
	sockets := len(t.group.sockets)
	var pause time.Duration
	if l.frames > 0 {
		pause = time.Duration(float64(time.Second) * float64(sockets*l.burst) / float64(l.frames))
	}
	began, used := time.Now(), t.child.cpu()
	published := 0
	for time.Since(began) < length {
		next := time.Now().Add(pause)
		if l.frames == 0 {
			// Send one more event for each event that reached all sockets.
			done := int(t.group.frames.Load()) / sockets
			if published-done >= l.burst {
				time.Sleep(200 * time.Microsecond)
				continue
			}
			n := min(l.burst-(published-done), l.burst)
			if err := t.send(callers[:n], published); err != nil {
				return measure{}, err
			}
			published += n
			continue
		}
		if l.burst == 1 {
			t.group.note()
		}
		if err := t.send(callers, published); err != nil {
			return measure{}, err
		}
		published += l.burst
		if err := t.group.wait(published, 20*time.Second); err != nil {
			return measure{}, err
		}
		time.Sleep(time.Until(next))
	}
	if err := t.group.wait(published, 20*time.Second); err != nil {
		return measure{}, err
	}
	took, spent := time.Since(began), t.child.cpu()-used
	if spent <= 0 {
		return measure{}, errNoClock
	}
	frames := float64(published * sockets)
	got := measure{cpu: float64(spent.Nanoseconds()) / 1000 / frames, rate: frames / took.Seconds()}
	t.group.mu.Lock()
	got.p99 = quantile(t.group.delays, 0.99)
	t.group.mu.Unlock()
	return got, nil
}

// send publishes events concurrently, one on each connection.
func (t *target) send(callers []*caller, from int) error {
	if len(callers) == 1 {
		return callers[0].call(t.publish(from))
	}
	var (
		group  sync.WaitGroup
		mu     sync.Mutex
		failed error
	)
	for i, c := range callers {
		group.Go(func() {
			if err := c.call(t.publish(from + i)); err != nil {
				mu.Lock()
				failed = err
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return failed
}

// product starts the real server on SQLite NORMAL. Its events are upserts of 1 KiB entries.
func product(opts *options, env ...string) (*server, *target, error) {
	running, err := serve(opts, engine{"SQLite NORMAL", "NORMAL"}, env...)
	if err != nil {
		return nil, nil, err
	}
	return running, &target{name: "harness", child: running.child, publish: func(i int) []byte {
		return running.upsert(fmt.Sprintf("m%08d", i), oneKiB)
	}}, nil
}

func baseline(opts *options, way string, size int) (*target, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(opts.dir, filepath.Base(way))
	if err != nil {
		return nil, err
	}
	c, err := startChild(dir, "baseline", os.Environ(), fmt.Sprintf("http://127.0.0.1:%d", port), self, "baseline", way,
		fmt.Sprint(port), fmt.Sprint(size))
	if err != nil {
		return nil, err
	}
	return &target{name: way, child: c, publish: func(int) []byte { return request("POST", "/publish", "{}") }}, nil
}
