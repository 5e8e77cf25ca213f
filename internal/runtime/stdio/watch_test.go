package stdio

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
)

// The supervisor does not check a process for a hang while its output is not read: the queue may contain the answer.
func TestServerThatDoesNotReadDetectsNoHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		close(open)
		in, out := io.Pipe()
		c := plainConn(gate{open}, in, nil)
		q := c.out
		// The store accepts nothing, and the queue before it is full.
		for range maxQueued {
			q.push(runtime.Batch{Signals: []runtime.Signal{{Method: "waits"}}})
		}
		go c.read()
		w := watch{conn: c, prober: &plain{}, every: time.Second}
		check := func(times int) (idle time.Duration) {
			for range times {
				synctest.Wait()
				idle = w.check()
			}
			return idle
		}
		if idle := check(3); idle != 2*time.Second {
			t.Errorf("silent for %s, want the two looks after the probe", idle)
		}
		_, _ = io.WriteString(out, "news t one\n") // it is read, and then there is no space
		if idle := check(10 * watchSteps); idle != 0 {
			t.Errorf("unresponsive for %s while nothing was read", idle)
		}
		q.next()
		if idle := check(1); idle != 0 {
			t.Errorf("unresponsive for %s, from before the store took something again", idle)
		}
		if idle := check(3); idle != 3*time.Second {
			t.Errorf("unresponsive for %s, want it checked again", idle)
		}
		_ = out.Close()
		<-c.gone
		q.close()
	})
}

// While the shim cannot keep the output of a process, there is no check of the process or its turns for a hang.
// Afterwards both timers restart.
func TestStalledProcessIsNotCheckedForHang(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		close(open)
		in, out := io.Pipe()
		c := plainConn(gate{open}, in, nil)
		stalled := true
		c.pipes.stalled = func() bool { return stalled }
		go c.read()
		w := watch{conn: c, prober: &plain{}, every: time.Second}
		check := func(times int) (idle time.Duration) {
			for range times {
				synctest.Wait()
				idle = w.check()
			}
			return idle
		}
		if idle := check(10 * watchSteps); idle != 0 {
			t.Errorf("unresponsive for %s while nothing was kept", idle)
		}
		stalled = false
		if idle := check(3); idle != 2*time.Second {
			t.Errorf("silent for %s, want the two looks after the probe", idle)
		}
		c.out.push(runtime.Batch{Signals: []runtime.Signal{{Method: "waits"}}})
		<-time.After(2 * standstill)
		if idle := check(3); idle != 0 || !c.Stalled() {
			t.Errorf("unresponsive for %s while the store refused", idle)
		}
		c.out.next()
		c.out.close()
		_ = out.Close()
		<-c.gone
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var held atomic.Bool
		var stops atomic.Int64
		held.Store(true)
		began, ended := time.Now(), make(chan struct{})
		go func() {
			defer close(ended)
			_ = TurnWatchdog(8*time.Second).Attend(ctx, Watched{Log: zerolog.Nop(), Stalled: held.Load,
				Turns: func() []Turn { return []Turn{{ID: "t", LastOutput: began}} },
				Stop:  func(context.Context, string) error { stops.Add(1); return nil }})
		}()
		<-time.After(time.Minute)
		if n := stops.Load(); n != 0 {
			t.Errorf("a turn that was held was stopped %d times", n)
		}
		held.Store(false)
		<-time.After(6 * time.Second)
		if stops.Load() != 0 {
			t.Error("it was stopped for what was before")
		}
		<-time.After(4 * time.Second)
		if stops.Load() == 0 {
			t.Error("it was not stopped")
		}
		cancel()
		<-ended
	})
}
