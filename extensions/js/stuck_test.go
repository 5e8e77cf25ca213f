package js_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"harness/extensions"
	"harness/extensions/js"
)

// native keeps a machine in a call of the host, which no interrupt reaches, until it is let go: a native loop of a
// known length.
type native struct {
	*tools
	entered, open chan struct{}
}

const callsNative = `(event, tools) => { tools.logger.info("in") }`

func newNative(t *testing.T) *native {
	t.Helper()
	n := &native{tools: &tools{}, entered: make(chan struct{}, 1), open: make(chan struct{})}
	t.Cleanup(n.end)
	return n
}

func (n *native) Log(string, json.RawMessage, string) {
	n.entered <- struct{}{}
	<-n.open
}

// end lets all machines go on.
func (n *native) end() {
	select {
	case <-n.open:
	default:
		close(n.open)
	}
}

// cut has a handler cut while its machine is in the call.
func (n *native) cut(t *testing.T, module extensions.Module, number int) {
	t.Helper()
	cutWith(t, module, number, (1+engineSlowdown)*50*time.Millisecond, n)
	select {
	case <-n.entered:
	default:
		t.Fatal("the handler was cut before it began")
	}
}

// A machine in a native loop is abandoned: the caller is answered in time, a fresh machine serves, the old one is freed
// when its loop ends.
func TestNativeLoopIsQuarantined(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond})
	module := load(t, host, handlers(callsNative, `() => "fine"`))
	neighbour := load(t, host, handlers(`() => "fine"`))
	loop := newNative(t)
	loop.cut(t, module, 0)
	answers(t, neighbour, 0)
	answers(t, module, 1)
	if health := module.Health(); health.State != extensions.HealthQuarantined || health.Restarts != 1 ||
		!strings.Contains(health.LastError, "native loop") {
		t.Errorf("health is %+v", health)
	}
	if host.Stuck() != 1 {
		t.Errorf("%d machines are stuck", host.Stuck())
	}
	loop.end()
	waitFor(t, "the loop's end", func() bool { return host.Stuck() == 0 && module.Health().State == extensions.HealthOK })
	answers(t, module, 1)
}

// A loop of the engine itself, which ends after a second or some, is such a one.
func TestALoopOfTheEngineIsOutlived(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond})
	module := load(t, host, handlers(fmt.Sprintf(`() => new Array(%d).indexOf(7)`, int(5e6)/engineSlowdown),
		`() => "fine"`))
	cut(t, module, 0, 50*time.Millisecond)
	answers(t, module, 1)
	waitFor(t, "the loop's end", func() bool { return host.Stuck() == 0 && module.Health().State == extensions.HealthOK })
	answers(t, module, 1)
}

// Only a few machines may be abandoned; then the extension fails with advice, and its neighbours go on.
func TestStuckMachinesAreLimited(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond, MaxStuck: 2})
	module := load(t, host, handlers(callsNative, `() => "fine"`))
	neighbour := load(t, host, handlers(`() => "fine"`))
	loops := newNative(t)
	loops.cut(t, module, 0)
	answers(t, module, 1) // the second machine is up
	loops.cut(t, module, 0)
	waitFor(t, "giving up", func() bool { return module.Health().State == extensions.HealthFailed })
	if _, err := handle(t, module, 1, &tools{}); err == nil || !strings.Contains(err.Error(), "out of process") {
		t.Error(err)
	}
	answers(t, neighbour, 0)
	loops.end()
	waitFor(t, "the loops' end", func() bool { return host.Stuck() == 0 })
}

// An extension that breaks its machine all the time is answered for at once instead of being started over and over.
func TestRestartsBackOff(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}), handlers(`() => { while (true) {} }`, `() => "fine"`))
	refused := false
	for range 20 {
		ctx, cancel := context.WithTimeout(t.Context(), 10*engineSlowdown*time.Millisecond)
		_, err := module.Handle(ctx, 0, event(`{}`), &tools{})
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
	waitFor(t, "the next machine", func() bool {
		got, err := handle(t, module, 1, &tools{})
		return err == nil && got == `"fine"`
	})
}

// waitFor looks until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s did not come", what)
		}
	}
}
