package lifecycle_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"harness/internal/lib/lifecycle"
)

func TestLoopsRunFromStartToStop(t *testing.T) {
	t.Parallel()
	var loops lifecycle.Loops
	ended, begun, release := make(chan struct{}), 0, make(chan struct{})
	begin := func(context.Context) error {
		begun++
		loops.Go(func(running context.Context) {
			<-running.Done()
			<-release
			close(ended)
		})
		return nil
	}
	if stopped, err := loops.Stop(t.Context(), "it"); stopped || err != nil {
		t.Errorf("stopped before the start: %v, %v", stopped, err)
	}
	start, cancel := context.WithCancel(t.Context())
	for range 2 {
		if err := loops.Start(start, begin); err != nil {
			t.Fatal(err)
		}
	}
	cancel() // the loops outlive the context of the call
	if _, err := loops.Stop(start, "it"); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "it did not stop") {
		t.Errorf("a loop that does not end: %v", err)
	}
	close(release)
	stopped, err := loops.Stop(t.Context(), "it")
	if !stopped || err != nil || begun != 1 {
		t.Errorf("stopped: %v, %v; begun %d times", stopped, err, begun)
	}
	select {
	case <-ended:
	default:
		t.Error("it was not waited for")
	}
	if stopped, err := loops.Stop(t.Context(), "it"); stopped || err != nil {
		t.Errorf("stopped again: %v, %v", stopped, err)
	}
}

func TestLoopsThatCannotBeginAreEnded(t *testing.T) {
	t.Parallel()
	var loops lifecycle.Loops
	broken := errors.New("broken")
	err := loops.Start(t.Context(), func(context.Context) error {
		loops.Go(func(running context.Context) { <-running.Done() })
		return broken
	})
	if !errors.Is(err, broken) {
		t.Error(err)
	}
	if err := loops.Start(t.Context(), func(context.Context) error { return nil }); err != nil {
		t.Errorf("tried again: %v", err)
	}
	if stopped, err := loops.Stop(t.Context(), "it"); !stopped || err != nil {
		t.Errorf("stopped: %v, %v", stopped, err)
	}
}
