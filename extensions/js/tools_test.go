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

func TestToolsAreReachedAndAnswered(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}), extensionstest.Handlers(
		`(event, tools) => tools.enqueueJob({type: "agent_instruction", payload: {n: event.payload.n}})`,
		`(event, {getSessionSettings, getSessionSetting}) => Promise.all([getSessionSettings("s1"), `+
			`getSessionSetting("s1", "auto"), getSessionSetting("s1", "none").then((v) => v === undefined)])`,
		`async (event, tools) => { try { await tools.getSessionSettings("missing") } catch (error) { return [error `+
			`instanceof Error, error.message] } }`,
		`(event, tools) => ["getSessionSettings" in tools, "getSessionSetting" in tools]`,
		`(event, tools) => { tools.logger.info({a: 1}, "hello"); tools.logger.warn("plain"); tools.logger.child({c: `+
			`2}).error(new Error("x"), "failed"); console.log("console", {b: 2}) }`,
		`(event, tools) => tools.enqueueJob({text: "x".repeat(2 << 20)})`,
		`(event, tools) => Promise.all(Array.from({length: 300}, () => tools.enqueueJob({})))`,
		`(event, tools) => { for (let i = 0; i < 1000; i++) tools.logger.info("line " + i) }`,
		`(event, tools) => { tools.logger.info({text: "x".repeat(1 << 20)}, "long") }`,
	))
	t.Run("EX-06 EX-16 enqueueJob", func(t *testing.T) {
		with := &extensionstest.Tools{}
		if got, err := extensionstest.Handle(t, module, 0, with); err != nil ||
			got != `{"status":"enqueued","job":{"id":"j1"}}` {
			t.Error(got, err)
		}
		if len(with.Enqueued()) != 1 || with.Enqueued()[0] != `{"type":"agent_instruction","payload":{"n":1}}` {
			t.Error(with.Enqueued())
		}
	})
	t.Run("EX-07 EX-08 settings", func(t *testing.T) {
		if got, err := extensionstest.Handle(t, module, 1, &extensionstest.Tools{Settings: true}); err != nil ||
			got != `[{"of":"s1","auto":true},"s1/auto",true]` {
			t.Error(got, err)
		}
		if got, err := extensionstest.Handle(t, module, 2, &extensionstest.Tools{Settings: true}); err != nil ||
			got != `[true,"no such session"]` {
			t.Error(got, err)
		}
		if got, err := extensionstest.Handle(t, module, 3, &extensionstest.Tools{}); err != nil || got != `[false,false]` {
			t.Error(got, err)
		}
	})
	t.Run("logger", func(t *testing.T) {
		with := &extensionstest.Tools{}
		if _, err := extensionstest.Handle(t, module, 4, with); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(with.Logged(), "\n")
		for _, want := range []string{`info {"a":1} hello`, `warn  plain`, `"c":2`, `"message":"x"`, ` failed`,
			`info  console {"b":2}`} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is missing in\n%s", want, all)
			}
		}
	})
	t.Run("bounds", func(t *testing.T) {
		if _, err := extensionstest.Handle(t, module, 5, &extensionstest.Tools{}); err == nil ||
			!strings.Contains(err.Error(), "larger than") {
			t.Error(err)
		}
		if _, err := extensionstest.Handle(t, module, 6, &extensionstest.Tools{}); err == nil ||
			!strings.Contains(err.Error(), "256 tool calls") {
			t.Error(err)
		}
		with := &extensionstest.Tools{}
		if _, err := extensionstest.Handle(t, module, 7, with); err != nil || len(with.Logged()) != 200 {
			t.Error(err, len(with.Logged()))
		}
		with = &extensionstest.Tools{}
		if _, err := extensionstest.Handle(t, module, 8, with); err != nil || len(with.Logged()) != 1 ||
			len(with.Logged()[0]) > 9<<10 {
			t.Error(err, len(with.Logged()))
		}
	})
}

// One extension's handlers run concurrently while they wait.
func TestInvocationsInterleave(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}),
		extensionstest.Handlers(`async (event, tools) => { const before = globalThis.n = (globalThis.n ?? 0) + 1; await `+
			`tools.enqueueJob({}); return [before, globalThis.n] }`))
	release := make(chan struct{})
	arrived := make(chan struct{}, 2)
	with := &extensionstest.Tools{Enqueue: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		arrived <- struct{}{}
		<-release
		return json.RawMessage(`{}`), nil
	}}
	results := make(chan string, 2)
	for range 2 {
		go func() {
			out, err := module.Handle(context.Background(), 0, extensionstest.Event(`{}`), with)
			if err != nil {
				out = json.RawMessage(err.Error())
			}
			results <- string(out)
		}()
	}
	<-arrived
	<-arrived
	close(release)
	a, b := <-results, <-results
	if a > b {
		a, b = b, a
	}
	if a != `[1,2]` || b != `[2,2]` {
		t.Error(a, b)
	}
}

// EX-14: a call after the invocation ended reaches no tool and gets an error; leftover timers never fire.
func TestLateCallsAndStrayTimers(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}), extensionstest.Handlers(
		`(event, tools) => { globalThis.kept = tools; setTimeout(() => { globalThis.fired = true }, 1); }`,
		`async (event, tools) => { try { await globalThis.kept.enqueueJob({}); return "reached" } catch (error) { return error.message } }`,
		`async () => { await new Promise((resolve) => setTimeout(resolve, 50)); return globalThis.fired === true }`,
		`async (event, tools) => { globalThis.kept = tools; await new Promise(() => {}) }`,
		`async (event, tools) => { try { await tools.enqueueJob({}) } finally { globalThis.cleaned = true; `+
			`tools.enqueueJob({late: 1}).catch((error) => { globalThis.late = error.message }) } }`,
		`() => [globalThis.cleaned, globalThis.late]`,
	))
	with := &extensionstest.Tools{}
	if _, err := extensionstest.Handle(t, module, 0, with); err != nil {
		t.Fatal(err)
	}
	if got, err := extensionstest.Handle(t, module, 1, with); err != nil || got != `"`+extensions.LateCall+`"` {
		t.Error(got, err)
	}
	if got, err := extensionstest.Handle(t, module, 2, with); err != nil || got != "false" {
		t.Error("a stray timer fired:", got, err)
	}
	const long = (1 + engineSlowdown) * 20 * time.Millisecond // enough time to reach the point where they wait
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	if _, err := module.Handle(ctx, 3, extensionstest.Event(`{}`), with); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got, err := extensionstest.Handle(t, module, 1, with); err != nil || got != `"`+extensions.LateCall+`"` {
		t.Error(got, err)
	}
	if n := len(with.Enqueued()); n != 0 {
		t.Errorf("%d late calls reached the tools", n)
	}
	hanging := &extensionstest.Tools{Enqueue: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx2, cancel2 := context.WithTimeout(t.Context(), long)
	defer cancel2()
	if _, err := module.Handle(ctx2, 4, extensionstest.Event(`{}`), hanging); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got, err := extensionstest.Handle(t, module, 5, with); err != nil || got != `[true,"`+extensions.LateCall+`"]` {
		t.Error("the waiting handler's finally block:", got, err)
	}
	if n := len(hanging.Enqueued()); n != 1 {
		t.Errorf("%d calls reached the tools", n)
	}
	if health := module.Health(); health.Restarts != 0 || health.State != extensions.HealthOK {
		t.Errorf("waiting costs the machine: %+v", health)
	}
}
