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

// cut runs a handler that must be cut off and checks that the error arrives in time.
func cut(t *testing.T, module extensions.Module, number int, timeout time.Duration) {
	t.Helper()
	extensionstest.Cut(t, module, number, timeout, slack, &extensionstest.Tools{})
}

// EX-14: whatever loops, the caller gets an error at its deadline, and both the extension and its neighbor answer the
// next event.
func TestLoopsAreCut(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{})
	neighbour := load(t, host, extensionstest.Handlers(`() => "fine"`))
	for name, body := range map[string]string{
		"sync":                       `() => { while (true) {} }`,
		"async":                      `async () => { while (true) {} }`,
		"after await":                `async () => { await null; while (true) {} }`,
		"after a timer":              `async () => { await new Promise((r) => setTimeout(r, 5)); while (true) {} }`,
		"in a timer":                 `() => new Promise(() => setTimeout(() => { while (true) {} }, 1))`,
		"in a stray timer":           `async () => { setTimeout(() => { while (true) {} }, 1); await new Promise(() => {}) }`,
		"microtasks":                 `async () => { while (true) await null }`,
		"caught":                     `() => { while (true) { try { while (true) {} } catch {} finally { while (true) {} } } }`,
		"after a tool call":          `async (event, tools) => { await tools.enqueueJob({}); while (true) {} }`,
		"endless timers":             `async () => { const again = () => setTimeout(again, 0); again(); await new Promise(() => {}) }`,
		"endless logging":            `(event, tools) => { while (true) tools.logger.info("more") }`,
		"endless calls":              `(event, tools) => { while (true) tools.enqueueJob({}).catch(() => {}) }`,
		"regex":                      `() => /^(a+)+$/.test("a".repeat(40) + "b")`,
		"regex with a backreference": `() => /^(?:(a+)\1?)+$/.test("a".repeat(40) + "b")`,
		"sort":                       `() => Array.from({length: 50000}, (_, i) => i).sort(() => { for (;;) {} })`,
		"getter":                     `() => JSON.stringify({get a() { while (true) {} }})`,
		"result's toJSON":            `() => ({toJSON() { while (true) {} }})`,
		"thenable":                   `() => ({then() { while (true) {} }})`,
		"thrown getter":              `() => { throw {get message() { while (true) {} }} }`,
		"never settles":              `() => new Promise(() => {})`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module := load(t, host, extensionstest.Handlers(body, `() => "fine"`))
			cut(t, module, 0, 100*time.Millisecond)
			extensionstest.Answers(t, neighbour, 0)
			extensionstest.Answers(t, module, 1)
			cut(t, module, 0, 20*time.Millisecond)
			extensionstest.Answers(t, module, 1)
		})
	}
}

// A looping handler ends the handlers that ran in the same machine, but none that was queued.
func TestReplacedMachineKeepsTheQueue(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}),
		extensionstest.Handlers(`async (event, tools) => { await tools.enqueueJob({}); await new Promise(() => {}) }`,
			`() => { while (true) {} }`, `() => "fine"`))
	runs := make(chan struct{}, 1)
	signaling := &extensionstest.Tools{Enqueue: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		runs <- struct{}{}
		return json.RawMessage(`{}`), nil
	}}
	type answer struct {
		out string
		err error
	}
	ask := func(number int, timeout time.Duration) chan answer {
		c := make(chan answer, 1)
		started := make(chan struct{})
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), timeout)
			defer cancel()
			close(started)
			out, err := module.Handle(ctx, number, extensionstest.Event(`{}`), signaling)
			c <- answer{string(out), err}
		}()
		<-started
		return c
	}
	waiting := ask(0, 20*time.Second)
	<-runs
	looping := ask(1, (1+engineSlowdown)*50*time.Millisecond) // enough time to start
	var behind []chan answer
	for range 5 {
		behind = append(behind, ask(2, 20*time.Second))
	}
	if a := <-looping; !errors.Is(a.err, context.DeadlineExceeded) {
		t.Errorf("%+v", a)
	}
	if a := <-waiting; a.err == nil || errors.Is(a.err, context.DeadlineExceeded) ||
		!strings.Contains(a.err.Error(), "replaced") {
		t.Errorf("%+v", a)
	}
	for _, c := range behind {
		if a := <-c; a.err != nil || a.out != `"fine"` {
			t.Errorf("%+v", a)
		}
	}
	if health := module.Health(); health.Restarts != 1 || health.LastError == "" {
		t.Errorf("%+v", health)
	}
}

func TestMemoryAndStackAreBounded(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{Memory: fullMemory}), extensionstest.Handlers(
		`() => { const all = []; while (true) all.push(new Array(1000).fill(1)) }`,
		`() => { let s = "x"; while (true) s += s }`,
		`() => { globalThis.hoard = []; while (true) hoard.push(new Uint8Array(1 << 20)) }`,
		`() => new Uint8Array(8589934592)`,
		`() => { const deep = () => deep() + 1; return deep() }`,
		`() => JSON.parse("[".repeat(1e6))`,
		`() => { let a = []; for (let i = 0; i < 200000; i++) a = [a]; return a }`,
		`() => { let a = []; for (let i = 0; i < 200000; i++) a = [a]; return String(a) }`,
		`() => new Function("(".repeat(1e6))`,
		`() => new RegExp("(".repeat(1e6))`,
		`() => { const p = []; p[0] = new Proxy({}, {get: (t, k) => p[0][k]}); return p[0].x }`,
		`() => { const a = [2, 1]; const f = () => a.slice().sort(f); return f() }`,
		`() => "x".repeat(20 << 20)`,
		`() => Array.from({length: 500000}, (_, i) => "item " + i)`,
		`() => { throw new Error("x".repeat(10 << 20)) }`,
		`() => { const fine = async () => { await fine() }; return fine() }`,
		`() => "fine"`,
	))
	before := resident(t)
	for number := range 16 {
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		out, err := module.Handle(ctx, number, extensionstest.Event(`{}`), &extensionstest.Tools{})
		cancel()
		if err == nil || len(out) > 0 {
			t.Errorf("handler %d returned %d bytes", number, len(out))
		} else if len(err.Error()) > 9<<10 {
			t.Errorf("handler %d threw %d bytes", number, len(err.Error()))
		}
		// Machines that broke too often restart after a delay.
		extensionstest.WaitFor(t, "the next event's answer", func() bool {
			got, err := extensionstest.Handle(t, module, 16, &extensionstest.Tools{})
			return err == nil && got == `"fine"`
		})
		t.Logf("handler %d: %s, %v", number, time.Since(start), clip(err))
	}
	// The race detector stores metadata for every byte.
	if after := resident(t); after > before+512<<20*((engineSlowdown+7)/8) {
		t.Errorf("resident memory went from %d to %d MiB", before>>20, after>>20)
	}
}

func clip(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()[:min(len(err.Error()), 60)]
}

// Intervals end with the handler that set them and count as timers. One that never yields is cut off like any other
// code.
func TestIntervalsObeyTheHandlersBudget(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{MaxTimers: 50}), extensionstest.Handlers(
		`() => { globalThis.ticks = 0; return new Promise((r) => setInterval(() => { if (++globalThis.ticks === 3) r("set") }, 1)) }`,
		`async () => { const before = globalThis.ticks; await new Promise((r) => setTimeout(r, 30)); return globalThis.ticks === before }`,
		`() => { let n = 0; try { for (;;) { setInterval(() => {}, 1e6); n++ } } catch (e) { return [n, e.name] } }`,
		`() => { setInterval(() => { while (true) {} }, 1); return new Promise(() => {}) }`,
		`() => { const t = new EventTarget(); let n = 0; try { for (;;) { t.addEventListener("x", () => n); n++ } } `+
			`catch (e) { return [n, e.name] } }`,
		`() => "fine"`,
	))
	for number, want := range []string{`"set"`, `true`, `[50,"RangeError"]`} {
		if got, err := extensionstest.Handle(t, module, number, &extensionstest.Tools{}); err != nil || got != want {
			t.Errorf("handler %d: %s, %v", number, got, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := module.Handle(ctx, 3, extensionstest.Event(`{}`), &extensionstest.Tools{}); !errors.Is(err,
		context.DeadlineExceeded) {
		t.Errorf("an interval that loops: %v", err)
	}
	extensionstest.Answers(t, module, 5)
	if got, err := extensionstest.Handle(t, module, 4, &extensionstest.Tools{}); err != nil || got != `[50,"RangeError"]` {
		t.Errorf("listeners: %s, %v", got, err)
	}
}
