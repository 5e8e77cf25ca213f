// Package lifecycletest checks that a service keeps the promises of every background part of the process. It is for
// tests only.
package lifecycletest

import (
	"context"
	"sync"
	"testing"
	"time"
)

// Service is the interface of every background part. Start may fail after Stop. Neither may hang, panic or race,
// however often and from wherever it is called.
type Service interface {
	Start(ctx context.Context) error
	Stop() error
}

const (
	rounds  = 25
	callers = 8
	// bound is the maximum time of one round. Only a hang reaches it.
	bound = time.Minute
)

// Stress starts and stops new services in every order: stop before start, each twice, and from many goroutines at
// once. It fails the test if a call does not return, or if the first Start or a Stop fails.
func Stress(t *testing.T, newService func() Service) {
	t.Helper()
	within(t, "stop without start", func() {
		check(t, "Stop before Start", newService().Stop())
	})
	within(t, "twice", func() {
		s := newService()
		check(t, "first Start", s.Start(context.Background()))
		check(t, "second Start", s.Start(context.Background()))
		check(t, "first Stop", s.Stop())
		check(t, "second Stop", s.Stop())
	})
	within(t, "canceled context", func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s := newService()
		_ = s.Start(ctx) // either result is correct, a hang is not
		check(t, "Stop after a canceled Start", s.Stop())
	})
	for range rounds {
		within(t, "concurrent", func() { concurrent(t, newService()) })
	}
}

// concurrent starts all callers at the same time. Half of them call Stop.
func concurrent(t *testing.T, s Service) {
	t.Helper()
	var wg sync.WaitGroup
	gate := make(chan struct{})
	for i := range callers {
		wg.Go(func() {
			<-gate
			if i%2 == 0 {
				_ = s.Start(context.Background()) // may lose against a Stop
				return
			}
			check(t, "concurrent Stop", s.Stop())
		})
	}
	close(gate)
	wg.Wait()
	check(t, "last Stop", s.Stop())
}

func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(bound):
		t.Fatalf("%s: not through after %s", what, bound)
	}
}

func check(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
}
