package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"harness/internal/runtime"
)

// An agent unlike codex works with only its protocol, as a child and behind a shim.
func TestAnyAgentThatSpeaksLines(t *testing.T) {
	t.Parallel()
	for name, detach := range map[string]bool{"child": false, "behind shim": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newRuntime(t, "", detach).agent(func(_ *agent, o *Options) {
				o.Started = func(c *Conn) string {
					var version string
					_ = json.Unmarshal(c.Hello(), &version)
					return version
				}
			})
			if got := a.must("notify", "t"); got != `"notified"` {
				t.Errorf("got %s", got)
			}
			if status := a.Status(); status.State != runtime.StateReady || status.Version != "1.2.3" ||
				(status.Shim != nil) != detach {
				t.Errorf("status %+v", status)
			}
			a.mu.Lock()
			said := a.batches[len(a.batches)-1]
			a.mu.Unlock()
			if len(said.Signals) != 3 || string(said.Native) != "news t one two three" || string(said.State) != "1" ||
				(said.Offset > 0) != detach {
				t.Errorf("an answered caller sees %+v taken", said)
			}
			if got := a.must("busy", "t"); got != `"after 3"` {
				t.Errorf("busy: %s", got)
			}
			var native *runtime.Error
			if _, err := a.call("refuse", "t"); !errors.As(err, &native) || native.Message != "not like this" ||
				native.Method != "refuse" {
				t.Errorf("refused with %v", err)
			}

			a.must("ask", "t")
			asked, _ := a.waitMethod("ask")
			c, done, ok := a.UseGeneration(asked.Generation)
			if !ok {
				t.Fatal("the process that asked is gone")
			}
			defer done()
			if !c.AsksIn("t") || c.AsksIn("u") || !c.Claim(asked.RequestID) || c.Claim(asked.RequestID) || c.AsksIn("t") {
				t.Error("a request is not claimed exactly once")
			}
			a.must("odd", "t")
			a.waitMethod("refused-q2") // the agent reports the refusal
			if _, err := a.call("die", "t"); !errors.Is(err, runtime.ErrUnavailable) {
				t.Errorf("a call its process died of: %v", err)
			}
			exit, _ := a.wait("its end", kind(runtime.SignalExited))
			if exit.Exit.Code == nil || *exit.Exit.Code != 3 {
				t.Errorf("ended %+v", exit.Exit)
			}
			if got := a.must("notify", "t"); got != `"notified"` || a.Status().Generation == asked.Generation {
				t.Errorf("the next process answered %s", got)
			}
		})
	}
}

// Processes of one runtime run side by side: the end of one, and the sweep after it, do not affect the others.
func TestProcessesOfOneRuntimeLiveSideBySide(t *testing.T) {
	t.Parallel()
	for name, detach := range map[string]bool{"children": false, "behind shims": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newRuntime(t, "", detach)
			serving := func(thread string) func(*agent, *Options) {
				return func(_ *agent, o *Options) { o.Once, o.Serves = true, thread }
			}
			one := k.agent(serving("a"))
			one.must("notify", "a")
			other := k.agent(serving("b"))
			other.must("notify", "b")
			generation := other.Status().Generation
			one.must("notify", "a") // the start of the other one swept, too
			if _, err := one.call("die", "a"); !errors.Is(err, runtime.ErrUnavailable) {
				t.Error(err)
			}
			select {
			case <-one.Done():
			case <-time.After(patience):
				t.Fatal("the supervision did not end with its only process")
			}
			started, _ := other.wait("the start", kind(runtime.SignalStarted))
			exited, _ := one.wait("the end", kind(runtime.SignalExited))
			if started.Serves != "b" || exited.Serves != "a" {
				t.Errorf("one that started serves %q, one that ended %q", started.Serves, exited.Serves)
			}
			if status := one.Status(); status.State != runtime.StateStopped || status.Restarts != 0 {
				t.Errorf("status %+v", status)
			}
			if got := other.must("notify", "b"); got != `"notified"` || other.Status().Generation != generation {
				t.Error("the other process did not survive")
			}
		})
	}
}

// A process behind a shim outlives its server: the next one continues at the store's position with the state of its
// translator, and detects the unanswered call.
func TestNextServerContinues(t *testing.T) {
	t.Parallel()
	k := newRuntime(t, "", true)
	a := k.agent(func(_ *agent, o *Options) { o.KeepOnStop = true })
	a.must("notify", "t")
	_, said := a.waitMethod("three")
	held := make(chan error, 1)
	go func() {
		_, err := a.call("hold", "t")
		held <- err
	}()
	a.must("ask", "t") // the agent has read the call before it
	asked, last := a.waitMethod("ask")
	a.stop()
	if err := <-held; !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("a call whose server stops: %v", err)
	}

	stored := runtime.Resumption{Offset: last.Offset, State: said.State,
		Turns:    []runtime.RunningTurn{{ThreadID: "t", TurnID: "u"}},
		Requests: []runtime.OpenRequest{{ThreadID: "t", RequestID: asked.RequestID}}}
	b := k.again().agent(func(_ *agent, o *Options) {
		o.Once, o.CallTimeout = true, 10*time.Millisecond
		o.Resume = func(_ context.Context, generation string) (runtime.Resumption, error) {
			if generation != said.Generation {
				t.Errorf("asked for generation %s", generation)
			}
			return stored, nil
		}
	})
	b.must("notify", "t")
	_, next := b.waitMethod("three")
	if next.Generation != said.Generation || next.Offset <= last.Offset || string(next.State) != "2" {
		t.Errorf("went on with %+v", next)
	}
	c := b.Current()
	if p, _ := c.Protocol().(*plain); len(p.turns) != 1 || p.turns[0] != "u" || !c.Inherited() {
		t.Errorf("the protocol got %+v", p)
	}
	if !c.AsksIn("t") || !c.Claim(asked.RequestID) {
		t.Error("what the agent asked the server before is forgotten")
	}
	left, _ := b.wait("the unanswered call", kind(runtime.SignalUnanswered))
	if _, lost := c.Recalled("t"); left.Method != "hold" || left.ThreadID != "t" || !lost {
		t.Errorf("left %+v, lost %t", left, lost)
	}
	if _, err := b.call("die", "t"); !errors.Is(err, runtime.ErrUnavailable) {
		t.Error(err)
	}
	select {
	case <-b.Done():
	case <-time.After(patience):
		t.Error("another process was started after the one that was inherited")
	}
}

// The supervisor replaces a process that does not answer the probe; its exit has the reason.
func TestAFrozenProcessIsReplaced(t *testing.T) {
	t.Parallel()
	a := newRuntime(t, "", false).agent(func(_ *agent, o *Options) { o.HangAfter = 2 * time.Second })
	if _, err := a.call("freeze", "t"); !errors.Is(err, runtime.ErrUnavailable) {
		t.Errorf("the call it hangs in: %v", err)
	}
	exit, _ := a.wait("its end", kind(runtime.SignalExited))
	if !strings.HasPrefix(exit.Exit.Reason, "it did not answer for") {
		t.Errorf("it ended because %q", exit.Exit.Reason)
	}
	a.must("notify", "t")
}

// The supervisor retires a process only while it is unused, and starts another one.
func TestAProcessThatIsUsedIsNotRetired(t *testing.T) {
	t.Parallel()
	try, retired := make(chan int64), make(chan bool)
	a := newRuntime(t, "", false).agent(func(a *agent, o *Options) {
		o.Attend = func(ctx context.Context, c *Conn, _ int) error {
			for {
				select {
				case uses := <-try:
					free := a.Retire(c, uses, time.Now().Add(time.Hour), func() bool { return false }, "making room")
					retired <- free
					if free {
						return &RetiredError{Exit: "it was idle", Message: "making room"}
					}
				case <-ctx.Done():
					return nil
				}
			}
		}
	})
	attempt := func(uses int64) bool {
		try <- uses
		return <-retired
	}
	a.must("notify", "t")
	generation, uses := a.Status().Generation, a.Uses()
	_, done, err := a.Use(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if attempt(uses + 1) {
		t.Error("retired while it is used")
	}
	done()
	if attempt(uses) {
		t.Error("retired although it was used meanwhile")
	}
	a.must("ask", "t")
	asked, _ := a.waitMethod("ask")
	if attempt(a.Uses()) {
		t.Error("retired while it waits for a person")
	}
	a.Current().Claim(asked.RequestID)
	if !attempt(a.Uses()) {
		t.Error("not retired although nothing needs it")
	}
	a.must("notify", "t") // waits for the next one
	if a.Status().Generation == generation {
		t.Error("it was not replaced")
	}
	if exit, _ := a.wait("its end", kind(runtime.SignalExited)); exit.Exit.Reason != "it was idle" {
		t.Errorf("it ended because %q", exit.Exit.Reason)
	}
}

// An agent that ends before it is ready stays down while the supervisor tries to start it again.
func TestAnAgentThatDoesNotStartStaysDown(t *testing.T) {
	t.Parallel()
	k := newRuntime(t, "", true)
	k.launch.Command = func() (string, []string, error) { return "/bin/false", nil, nil }
	k.launcher = NewLauncher(k.launch)
	states := make(chan runtime.State, 100)
	k.agent(func(a *agent, o *Options) {
		sink := o.Sink
		o.Sink = func(batch runtime.Batch) {
			if kind(runtime.SignalExited)(batch.Signals[0]) {
				states <- a.Status().State
			}
			sink(batch)
		}
	})
	<-states // of its first start
	for range 3 {
		if state := <-states; state != runtime.StateUnavailable {
			t.Errorf("it is %s", state)
		}
	}
}
