package process_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/extensions"
	"harness/extensions/process"
	"harness/tests/extensionstest"
	"harness/tests/outside"
)

func TestNodeHandlers(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	cases := []struct{ body, want, wantErr string }{
		{`(event) => ({got: event.payload.n, type: event.type})`, `{"got":1,"type":"e"}`, ""},
		{`() => {}`, ``, ""},
		{`() => null`, `null`, ""},
		{`async () => { await new Promise((resolve) => setTimeout(resolve, 5)); return "late" }`, `"late"`, ""},
		{`() => { throw new Error("boom") }`, ``, "boom"},
		{`async () => { throw null }`, ``, "null"},
		{`() => ({n: 10n})`, `{"n":"10"}`, ""},
		{`() => { const a = {}; a.a = a; return a }`, ``, "can not be used"},
		{`() => "x".repeat(2 << 20)`, ``, "larger than"},
		{`(event, tools) => tools.enqueueJob({n: event.payload.n})`, `{"status":"enqueued","job":{"id":"j1"}}`, ""},
		{`(event, {getSessionSettings, getSessionSetting}) => Promise.all([getSessionSettings("s1"), ` +
			`getSessionSetting("s1", "auto"), getSessionSetting("s1", "none").then((v) => v === undefined)])`,
			`[{"of":"s1","auto":true},"s1/auto",true]`, ""},
		{`(event, tools) => tools.getSessionSettings("missing")`, ``, "no such session"},
		{`(event, tools) => { process.stdout.write("no protocol\n"); console.log("console"); tools.logger.warn({a: 1}, "hello") }`,
			``, ""},
		{`async () => { const fs = await import("node:fs"); return typeof fs.readFileSync }`, `"function"`, ""},
		{`(event, tools) => { setTimeout(() => { throw new Error("stray") }, 1); return new Promise((resolve) => ` +
			`setTimeout(resolve, 20, "alive")) }`,
			`"alive"`, ""},
		{`() => { Promise.reject(new Error("ignored")); return "alive" }`, `"alive"`, ""},
	}
	bodies := make([]string, len(cases))
	for i, c := range cases {
		bodies[i] = c.body
	}
	site := newSite(t, nil)
	module := extensionstest.Load(t, site, nodeSource(t, extensionstest.Handlers(bodies...)))
	for i, c := range cases {
		with := &extensionstest.Tools{Settings: true}
		got, err := extensionstest.Handle(t, module, i, with)
		switch {
		case c.wantErr != "":
			if err == nil || !strings.Contains(err.Error(), c.wantErr) {
				t.Errorf("%s: %v", c.body, err)
			}
		case err != nil || got != c.want:
			t.Errorf("%s: %s, %v", c.body, got, err)
		}
		if strings.Contains(c.body, "hello") && !slices.Contains(with.Logged(), `warn {"a":1} hello`) {
			t.Errorf("logged: %q", with.Logged())
		}
	}
	if health := module.Health(); health.State != extensions.HealthOK || health.Restarts != 0 {
		t.Errorf("%+v", health)
	}
	marks := site.marks(t)
	extensionstest.Close(t, module)
	nothingLeft(t, marks...)
	if left := site.marks(t); len(marks) != 1 || len(left) != 0 {
		t.Errorf("folders: %v, later %v", marks, left)
	}
	if _, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err == nil {
		t.Error("a closed extension answers")
	}
}

func TestNodeSubscriptionsAndTypeScript(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	dir := extensionstest.Write(t, map[string]string{
		"events.ts": `import { isRecord } from "@codex-manager/agent-runtime-sdk"; import { Levels } from "./lib/types.js"; import path from "path";
			export async function registerAgentEvents(registry: any) {
				registry.on("a", (event: {payload: unknown}) => [isRecord(event.payload), Levels[1], path.sep], {priority: -5, timeoutMs: 8000.2});
				registry.on("b", () => 1);
			}`,
		"lib/types.ts": `export enum Levels { Low, High }`,
	})
	module := extensionstest.Load(t, newSite(t, nil),
		extensions.Source{Name: "x", Root: dir, Entrypoint: dir + "/events.ts",
			Runtime: extensions.RuntimeChoice{Host: "node"}})
	want := []extensions.Subscription{{EventType: "a", Priority: -5, HasPriority: true, TimeoutMs: 8001}, {EventType: "b"}}
	if got := module.Subscriptions(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err != nil || got != `[true,"High","/"]` {
		t.Error(got, err)
	}
}

func TestNodeLoadErrors(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	site := newSite(t, func(o *process.Options) { o.Limits.LoadTimeout = 20 * time.Second })
	for name, c := range map[string]struct {
		code    string
		want    extensions.LoadCode
		message string
	}{
		"throws": {`throw new Error("boom"); export function registerAgentEvents() {}`,
			extensions.ImportFailed, "boom"},
		"syntax":    {`export function {`, extensions.ImportFailed, "events.mjs:1:"},
		"no export": {`export const x = 1`, extensions.MissingRegister, extensions.MissingRegisterText},
		"registration throws": {`export function registerAgentEvents() { throw new Error("reg boom") }`,
			extensions.RegistrationFailed, "reg boom"},
		"registration rejects": {`export async function registerAgentEvents() { throw new Error("reg boom") }`,
			extensions.RegistrationFailed, "reg boom"},
		"exits": {`process.exit(7); export function registerAgentEvents() {}`,
			extensions.ImportFailed, "code 7"},
		"escape": {`import x from "../x.js"; export function registerAgentEvents() { x() }`,
			extensions.ImportFailed, "../x.js"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module, err := site.Load(t.Context(), nodeSource(t, c.code))
			if err == nil {
				extensionstest.Close(t, module)
				t.Fatal("it was loaded")
			}
			var load *extensions.LoadError
			if !errors.As(err, &load) || load.Code != c.want || !strings.Contains(load.Message, c.message) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// A handler that waits too long does not affect other handlers; one that blocks the process loses the process.
func TestNodeTimeouts(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	site := newSite(t, func(o *process.Options) { o.Limits.Grace = slowness * 300 * time.Millisecond })
	module := extensionstest.Load(t, site, nodeSource(t, extensionstest.Handlers(
		`() => new Promise(() => {})`,
		`() => { while (true) {} }`,
		`async (event, tools) => { globalThis.kept = tools; await new Promise(() => {}) }`,
		`async () => { try { await globalThis.kept.enqueueJob({}); return "reached" } catch (error) { return error.message } }`,
		`() => "fine"`,
		`() => { const all = []; while (true) all.push(new Uint8Array(16 << 20).fill(1)) }`,
		`() => { process.exit(3) }`,
		`() => { process.kill(process.pid, "SIGSEGV"); return new Promise(() => {}) }`,
	)))
	neighbour := extensionstest.Load(t, site, nodeSource(t, extensionstest.Handlers(`() => "fine"`)))
	before := site.marks(t)
	cut(t, module, 2, 50*time.Millisecond)
	if got, err := extensionstest.Handle(t, module, 3, &extensionstest.Tools{}); err != nil ||
		got != `"`+extensions.LateCall+`"` {
		t.Error(got, err)
	}
	cut(t, module, 0, 20*time.Millisecond)
	extensionstest.Answers(t, module, 4)
	if health := module.Health(); health.Restarts != 0 {
		t.Errorf("waiting costs the process: %+v", health)
	}
	cut(t, module, 1, 50*time.Millisecond)
	extensionstest.Answers(t, neighbour, 0)
	extensionstest.Answers(t, module, 4)
	if health := module.Health(); health.Restarts != 1 || !strings.Contains(health.LastError, "hangs") {
		t.Errorf("%+v", health)
	}
	for number, word := range map[int]string{5: "replaced", 6: "code 3", 7: "SIGSEGV"} {
		if got, err := extensionstest.Handle(t, module, number, &extensionstest.Tools{}); err == nil ||
			(!strings.Contains(err.Error(), word) && !strings.Contains(err.Error(), "memory") &&
				!strings.Contains(err.Error(), "allocation")) {
			t.Errorf("handler %d: %s, %v", number, got, err)
		}
		extensionstest.Answers(t, module, 4)
	}
	extensionstest.WaitFor(t, "the first child's folder to go", func() bool {
		now := site.marks(t)
		return len(now) == 2 && (!slices.Contains(now, before[0]) || !slices.Contains(now, before[1]))
	})
	for _, mark := range before {
		if !slices.Contains(site.marks(t), mark) {
			nothingLeft(t, mark)
		}
	}
}

// A caller that cancels early does not cause a kill.
func TestNodeCancel(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "Node.js")
	module := extensionstest.Load(t, newSite(t, nil),
		nodeSource(t, extensionstest.Handlers(`() => new Promise(() => {})`, `() => "fine"`)))
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() {
		_, err := module.Handle(ctx, 0, extensionstest.Event(`{}`), &extensionstest.Tools{})
		out <- err
	}()
	extensionstest.Answers(t, module, 1)
	cancel()
	if err := <-out; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	extensionstest.Answers(t, module, 1)
	if health := module.Health(); health.Restarts != 0 {
		t.Errorf("%+v", health)
	}
}
