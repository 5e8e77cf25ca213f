package wake_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"harness/internal/lib/wake"
)

// TestSetsBeforeARoundAreOne shows that a signal never blocks its caller and is never lost.
func TestSetsBeforeARoundAreOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		signal, rounds := wake.New(), 0
		signal.Set()
		signal.Set()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			signal.Loop(ctx, func(context.Context) time.Duration { rounds++; return 0 })
		}()
		synctest.Wait()
		if rounds != 1 {
			t.Errorf("two signals gave %d rounds, want 1", rounds)
		}
		signal.Set()
		synctest.Wait()
		if rounds != 2 {
			t.Errorf("the third signal gave round %d, want 2", rounds)
		}
		cancel()
		<-ended
	})
}

// TestARoundIsRepeatedAfterItsPause checks the retry: after the pause, earlier after a signal, and not after a success.
func TestARoundIsRepeatedAfterItsPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		signal, start := wake.New(), time.Now()
		var at []time.Duration
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			signal.Loop(ctx, func(context.Context) time.Duration {
				at = append(at, time.Since(start))
				if len(at) < 3 {
					return time.Minute
				}
				return 0
			})
		}()
		signal.Set()
		<-time.After(30 * time.Second)
		signal.Set()
		<-time.After(time.Hour)
		cancel()
		<-ended
		want := []time.Duration{0, 30 * time.Second, 90 * time.Second}
		if len(at) != len(want) || at[0] != want[0] || at[1] != want[1] || at[2] != want[2] {
			t.Errorf("rounds at %v, want %v", at, want)
		}
	})
}
