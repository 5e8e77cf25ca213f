package processes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"harness/internal/runtime"
)

// startTime and endTime are the times that the scripted processes need to start and to end.
const (
	startTime = 2 * time.Second
	endTime   = time.Second
)

// script is a runtime with words as processes: "a#2" is the second process of conversation a. It logs its calls.
type script struct {
	t   *testing.T
	set *Set[string]

	mu     sync.Mutex
	starts map[string]int
	alive  []string
	most   int
	said   []string
	gone   map[string]func()
	fail   error
}

// play runs a test in a synctest bubble, and checks at its end that nothing is left.
func play(t *testing.T, options Options[string], test func(t *testing.T, s *script)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &script{t: t, starts: map[string]int{}, gone: map[string]func(){}}
		options.Runtime, options.Start, options.End = "scripted", s.start, s.end
		options.Waits = func(id string, before int) { s.log("%s waits for %d", id, before) }
		s.set = New(options)
		test(t, s)
		if err := s.set.Stop(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.set.Stop(t.Context()); err != nil {
			t.Errorf("stopped twice: %v", err)
		}
		if left, waiting := s.set.List(); len(left) != 0 || waiting != 0 || len(s.alive) != 0 {
			t.Errorf("left behind: %v, %d waiting, %v alive", left, waiting, s.alive)
		}
		if options.Max > 0 && s.most > options.Max {
			t.Errorf("%d processes ran at once, want at most %d", s.most, options.Max)
		}
		if _, _, err := s.set.Use(t.Context(), "late"); !errors.Is(err, runtime.ErrUnavailable) {
			t.Errorf("used after the stop: %v", err)
		}
	})
}

// pass lets time pass in the bubble.
func pass(d time.Duration) { <-time.After(d) }

func (s *script) log(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, fmt.Sprintf(format, args...))
}

func (s *script) failing(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// drainLog returns and clears the log.
func (s *script) drainLog() string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	said := strings.Join(s.said, ", ")
	s.said = nil
	return said
}

func (s *script) want(said string) {
	s.t.Helper()
	if got := s.drainLog(); got != said {
		s.t.Errorf("said %q, want %q", got, said)
	}
}

func (s *script) start(ctx context.Context, id string, gone func()) (string, error) {
	s.mu.Lock()
	s.starts[id]++
	name, failure := fmt.Sprintf("%s#%d", id, s.starts[id]), s.fail
	s.alive = append(s.alive, name)
	s.most = max(s.most, len(s.alive))
	s.gone[name] = gone
	s.mu.Unlock()
	s.log("start %s", name)
	select {
	case <-time.After(startTime):
	case <-ctx.Done():
		failure = ctx.Err()
	}
	if failure != nil {
		s.over(name)
		return "", failure
	}
	return name, nil
}

func (s *script) end(_, name string) {
	s.log("end %s", name)
	pass(endTime)
	s.over(name)
}

func (s *script) over(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive = slices.DeleteFunc(s.alive, func(other string) bool { return other == name })
}

// dies ends a process without a request.
func (s *script) dies(name string) {
	s.over(name)
	s.gone[name]()
}

// use calls Use, which must succeed.
func (s *script) use(id string) (name string, done func()) {
	s.t.Helper()
	name, done, err := s.set.Use(s.t.Context(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	return name, done
}

// uses is use by another caller: it logs the result.
func (s *script) uses(ctx context.Context, id string) {
	s.t.Helper()
	go func() {
		name, done, err := s.set.Use(ctx, id)
		if err != nil {
			s.log("%s failed: %v", id, err)
			return
		}
		s.log("use %s", name)
		done()
	}()
	synctest.Wait()
}
