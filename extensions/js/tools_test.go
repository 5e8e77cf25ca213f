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
)

func TestToolsAreReachedAndAnswered(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}), handlers(
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
		with := &tools{}
		if got, err := handle(t, module, 0, with); err != nil || got != `{"status":"enqueued","job":{"id":"j1"}}` {
			t.Error(got, err)
		}
		if len(with.enqueued) != 1 || with.enqueued[0] != `{"type":"agent_instruction","payload":{"n":1}}` {
			t.Error(with.enqueued)
		}
	})
	t.Run("EX-07 EX-08 settings", func(t *testing.T) {
		if got, err := handle(t, module, 1, &tools{settings: true}); err != nil ||
			got != `[{"of":"s1","auto":true},"s1/auto",true]` {
			t.Error(got, err)
		}
		if got, err := handle(t, module, 2, &tools{settings: true}); err != nil || got != `[true,"no such session"]` {
			t.Error(got, err)
		}
		if got, err := handle(t, module, 3, &tools{}); err != nil || got != `[false,false]` {
			t.Error(got, err)
		}
	})
	t.Run("logger", func(t *testing.T) {
		with := &tools{}
		if _, err := handle(t, module, 4, with); err != nil {
			t.Fatal(err)
		}
		all := strings.Join(with.logged, "\n")
		for _, want := range []string{`info {"a":1} hello`, `warn  plain`, `"c":2`, `"message":"x"`, ` failed`,
			`info  console {"b":2}`} {
			if !strings.Contains(all, want) {
				t.Errorf("%q is missing in\n%s", want, all)
			}
		}
	})
	t.Run("bounds", func(t *testing.T) {
		if _, err := handle(t, module, 5, &tools{}); err == nil || !strings.Contains(err.Error(), "larger than") {
			t.Error(err)
		}
		if _, err := handle(t, module, 6, &tools{}); err == nil || !strings.Contains(err.Error(), "256 tool calls") {
			t.Error(err)
		}
		with := &tools{}
		if _, err := handle(t, module, 7, with); err != nil || len(with.logged) != 200 {
			t.Error(err, len(with.logged))
		}
		with = &tools{}
		if _, err := handle(t, module, 8, with); err != nil || len(with.logged) != 1 || len(with.logged[0]) > 9<<10 {
			t.Error(err, len(with.logged))
		}
	})
}

// One extension's handlers run side by side while they wait.
func TestInvocationsInterleave(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}),
		handlers(`async (event, tools) => { const before = globalThis.n = (globalThis.n ?? 0) + 1; await `+
			`tools.enqueueJob({}); return [before, globalThis.n] }`))
	release := make(chan struct{})
	arrived := make(chan struct{}, 2)
	with := &tools{enqueue: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		arrived <- struct{}{}
		<-release
		return json.RawMessage(`{}`), nil
	}}
	results := make(chan string, 2)
	for range 2 {
		go func() {
			out, err := module.Handle(context.Background(), 0, event(`{}`), with)
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

// EX-14: a call after the invocation ended reaches nothing and says why; timers that nobody waits for never fire.
func TestLateCallsAndStrayTimers(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}), handlers(
		`(event, tools) => { globalThis.kept = tools; setTimeout(() => { globalThis.fired = true }, 1); }`,
		`async (event, tools) => { try { await globalThis.kept.enqueueJob({}); return "reached" } catch (error) { return error.message } }`,
		`async () => { await new Promise((resolve) => setTimeout(resolve, 50)); return globalThis.fired === true }`,
		`async (event, tools) => { globalThis.kept = tools; await new Promise(() => {}) }`,
		`async (event, tools) => { try { await tools.enqueueJob({}) } finally { globalThis.cleaned = true; `+
			`tools.enqueueJob({late: 1}).catch((error) => { globalThis.late = error.message }) } }`,
		`() => [globalThis.cleaned, globalThis.late]`,
	))
	with := &tools{}
	if _, err := handle(t, module, 0, with); err != nil {
		t.Fatal(err)
	}
	if got, err := handle(t, module, 1, with); err != nil || got != `"`+extensions.LateCall+`"` {
		t.Error(got, err)
	}
	if got, err := handle(t, module, 2, with); err != nil || got != "false" {
		t.Error("a stray timer fired:", got, err)
	}
	const long = (1 + engineSlowdown) * 20 * time.Millisecond // enough to come to the point where they wait
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	if _, err := module.Handle(ctx, 3, event(`{}`), with); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got, err := handle(t, module, 1, with); err != nil || got != `"`+extensions.LateCall+`"` {
		t.Error(got, err)
	}
	if n, _ := with.count(); n != 0 {
		t.Errorf("%d late calls reached the tools", n)
	}
	hanging := &tools{enqueue: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx2, cancel2 := context.WithTimeout(t.Context(), long)
	defer cancel2()
	if _, err := module.Handle(ctx2, 4, event(`{}`), hanging); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if got, err := handle(t, module, 5, with); err != nil || got != `[true,"`+extensions.LateCall+`"]` {
		t.Error("the waiting handler's finally block:", got, err)
	}
	if n, _ := hanging.count(); n != 1 {
		t.Errorf("%d calls reached the tools", n)
	}
	if health := module.Health(); health.Restarts != 0 || health.State != extensions.HealthOK {
		t.Errorf("waiting costs the machine: %+v", health)
	}
}
