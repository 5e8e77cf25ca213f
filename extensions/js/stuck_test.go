package js_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"harness/extensions"
	"harness/extensions/js"
	"harness/tests/extensionstest"
)

// native blocks a machine in a call of the host, which no interrupt reaches, until the test releases it: a native loop
// of a known length.
type native struct {
	*extensionstest.Tools
	entered, open chan struct{}
}

const callsNative = `(event, tools) => { tools.logger.info("in") }`

func newNative(t *testing.T) *native {
	t.Helper()
	n := &native{Tools: &extensionstest.Tools{}, entered: make(chan struct{}, 1), open: make(chan struct{})}
	t.Cleanup(n.end)
	return n
}

func (n *native) Log(string, json.RawMessage, string) {
	n.entered <- struct{}{}
	<-n.open
}

// end releases all machines.
func (n *native) end() {
	select {
	case <-n.open:
	default:
		close(n.open)
	}
}

// cut checks that a handler is cut off while its machine is in the call.
func (n *native) cut(t *testing.T, module extensions.Module, number int) {
	t.Helper()
	extensionstest.Cut(t, module, number, (1+engineSlowdown)*50*time.Millisecond, slack, n)
	select {
	case <-n.entered:
	default:
		t.Fatal("the handler was cut before it began")
	}
}

// A machine in a native loop is abandoned: the caller gets an error in time, a new machine serves, and the old one is
// freed when its loop ends.
func TestNativeLoopIsQuarantined(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond})
	module := load(t, host, extensionstest.Handlers(callsNative, `() => "fine"`))
	neighbour := load(t, host, extensionstest.Handlers(`() => "fine"`))
	loop := newNative(t)
	loop.cut(t, module, 0)
	extensionstest.Answers(t, neighbour, 0)
	extensionstest.Answers(t, module, 1)
	if health := module.Health(); health.State != extensions.HealthQuarantined || health.Restarts != 1 ||
		!strings.Contains(health.LastError, "native loop") {
		t.Errorf("health is %+v", health)
	}
	if host.Stuck() != 1 {
		t.Errorf("%d machines are stuck", host.Stuck())
	}
	loop.end()
	extensionstest.WaitFor(t, "the loop's end", func() bool {
		return host.Stuck() == 0 && module.Health().State == extensions.HealthOK
	})
	extensionstest.Answers(t, module, 1)
}

// A loop of the engine itself, which ends after a second or so, is such a native loop.
func TestALoopOfTheEngineIsOutlived(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond})
	module := load(t, host, extensionstest.Handlers(`() => new Array(5_000_000).indexOf(7)`, `() => "fine"`))
	cut(t, module, 0, 50*time.Millisecond)
	extensionstest.Answers(t, module, 1)
	extensionstest.WaitFor(t, "the loop's end", func() bool {
		return host.Stuck() == 0 && module.Health().State == extensions.HealthOK
	})
	extensionstest.Answers(t, module, 1)
}

// Only a few machines may be abandoned. Then the extension fails with a remedy, and the others keep running.
func TestStuckMachinesAreLimited(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond, MaxStuck: 2})
	module := load(t, host, extensionstest.Handlers(callsNative, `() => "fine"`))
	neighbour := load(t, host, extensionstest.Handlers(`() => "fine"`))
	loops := newNative(t)
	loops.cut(t, module, 0)
	extensionstest.Answers(t, module, 1) // the second machine is ready
	loops.cut(t, module, 0)
	extensionstest.WaitFor(t, "giving up", func() bool { return module.Health().State == extensions.HealthFailed })
	if _, err := extensionstest.Handle(t, module, 1, &extensionstest.Tools{}); err == nil ||
		!strings.Contains(err.Error(), "out of process") {
		t.Error(err)
	}
	extensionstest.Answers(t, neighbour, 0)
	loops.end()
	extensionstest.WaitFor(t, "the loops' end", func() bool { return host.Stuck() == 0 })
}

// An extension that breaks its machine repeatedly gets an error immediately, and is not restarted each time.
func TestRestartsBackOff(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}), extensionstest.Handlers(`() => { while (true) {} }`, `() => "fine"`))
	refused := false
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), (1+engineSlowdown)*50*time.Millisecond) // enough time to start
		_, err := module.Handle(ctx, 0, extensionstest.Event(`{}`), &extensionstest.Tools{})
		cancel()
		if err == nil {
			t.Fatal("an endless loop returned")
		}
		if !errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "starts again in") {
			refused = true
			break
		}
	}
	if !refused {
		t.Error("20 broken machines cost nothing")
	}
	extensionstest.WaitFor(t, "the next machine", func() bool {
		got, err := extensionstest.Handle(t, module, 1, &extensionstest.Tools{})
		return err == nil && got == `"fine"`
	})
}
