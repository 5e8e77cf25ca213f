package js_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"harness/extensions"
	"harness/extensions/js"
)

// stuck is a native loop of the engine: no interrupt reaches it, but it ends by itself after a second or some.
func stuck(rounds int) string {
	return fmt.Sprintf(`() => new Array(%d).indexOf(7)`, rounds/engineSlowdown)
}

// A machine in a native loop is abandoned: the caller is answered in time, a fresh machine serves, the old one is freed when its loop ends.
func TestNativeLoopIsQuarantined(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond})
	module := load(t, host, handlers(stuck(2e7), `() => "fine"`))
	neighbour := load(t, host, handlers(`() => "fine"`))
	cut(t, module, 0, 50*time.Millisecond)
	answers(t, neighbour, 0)
	answers(t, module, 1)
	if health := module.Health(); health.State != extensions.HealthQuarantined || health.Restarts != 1 || !strings.Contains(health.LastError, "native loop") {
		t.Errorf("health is %+v", health)
	}
	if host.Stuck() != 1 {
		t.Errorf("%d machines are stuck", host.Stuck())
	}
	waitFor(t, "the loop's end", func() bool { return host.Stuck() == 0 && module.Health().State == extensions.HealthOK })
	answers(t, module, 1)
}

// Only a few machines may be abandoned; then the extension fails with advice, and its neighbours go on.
func TestStuckMachinesAreLimited(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{Grace: 30 * time.Millisecond, MaxStuck: 2})
	module := load(t, host, handlers(stuck(4e7), `() => "fine"`))
	neighbour := load(t, host, handlers(`() => "fine"`))
	cut(t, module, 0, 50*time.Millisecond)
	answers(t, module, 1) // the second machine is up
	cut(t, module, 0, 50*time.Millisecond)
	waitFor(t, "giving up", func() bool { return module.Health().State == extensions.HealthFailed })
	if _, err := handle(t, module, 1, &tools{}); err == nil || !strings.Contains(err.Error(), "out of process") {
		t.Error(err)
	}
	answers(t, neighbour, 0)
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
