package js_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/extensions"
	"harness/extensions/js"
	"harness/tests/extensionstest"
)

func TestSubscriptions(t *testing.T) {
	t.Parallel()
	module := load(t, newHost(js.Limits{}), `export async function registerAgentEvents(registry) {
		registry.on("a", () => 1);
		await new Promise((resolve) => setTimeout(resolve, 1));
		registry.on("b", () => 2, {priority: -5, timeoutMs: 8000.2});
		registry.on("b", () => 3, {priority: "high", timeoutMs: -1});
		registry.on("c", () => 4, {priority: 0});
	}`)
	want := []extensions.Subscription{
		{EventType: "a"},
		{EventType: "b", Priority: -5, HasPriority: true, TimeoutMs: 8001},
		{EventType: "b"},
		{EventType: "c", HasPriority: true},
	}
	if got := module.Subscriptions(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	if got, err := extensionstest.Handle(t, module, 2, &extensionstest.Tools{}); err != nil || got != "3" {
		t.Error(got, err)
	}
	if _, err := extensionstest.Handle(t, module, 4, &extensionstest.Tools{}); err == nil {
		t.Error("there is no fifth handler")
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	patient := newHost(js.Limits{Memory: fullMemory})
	impatient := newHost(js.Limits{LoadTimeout: 300 * time.Millisecond})
	for name, c := range map[string]struct {
		code    string
		want    extensions.LoadCode
		message string
	}{
		"throws": {`throw new Error("boom"); export function registerAgentEvents() {}`,
			extensions.ImportFailed, "boom"},
		"throws text":         {`throw "boom"; export function registerAgentEvents() {}`, extensions.ImportFailed, "boom"},
		"syntax":              {"\nexport function {", extensions.ImportFailed, "events.mjs:2:"},
		"no export":           {`export const x = 1`, extensions.MissingRegister, extensions.MissingRegisterText},
		"default is no shape": {`export default function () {}`, extensions.MissingRegister, extensions.MissingRegisterText},
		"registration throws": {`export function registerAgentEvents() { throw new Error("reg boom") }`,
			extensions.RegistrationFailed, "reg boom"},
		"registration rejects": {`export async function registerAgentEvents() { throw new Error("reg boom") }`,
			extensions.RegistrationFailed, "reg boom"},
		"bad handler": {`export function registerAgentEvents(r) { r.on("x", 5) }`, extensions.RegistrationFailed,
			"needs a function"},
		"too many handlers": {`export function registerAgentEvents(r) { while (true) r.on("x", () => {}) }`,
			extensions.RegistrationFailed, "1000"},
		"loops": {`while (true) {} export function registerAgentEvents() {}`, extensions.ImportFailed,
			"loading"},
		"registration loops": {`export function registerAgentEvents() { while (true) {} }`, extensions.ImportFailed,
			"loading"},
		"never registered": {`export function registerAgentEvents() { return new Promise(() => {}) }`,
			extensions.ImportFailed, "loading"},
		"eats memory": {
			`const a = []; while (true) a.push(new Array(1e4).fill(0)); export function registerAgentEvents() {}`,
			extensions.ImportFailed, "memory"},
		"recursion": {`const f = () => f() + 1; f(); export function registerAgentEvents() {}`,
			extensions.ImportFailed, "stack"},
		"node module": {`import fs from "node:fs"; export function registerAgentEvents() { fs.x }`,
			extensions.ImportFailed, `"host": "node"`},
		"node module, bare": {`import fs from "fs/promises"; export function registerAgentEvents() { fs.x }`,
			extensions.ImportFailed, "events.mjs:1:"},
		"missing import": {`import x from "./nowhere.js"; export function registerAgentEvents() { x() }`,
			extensions.ImportFailed, "nowhere"},
		"missing package": {`import x from "left-pad"; export function registerAgentEvents() { x() }`,
			extensions.ImportFailed, "left-pad"},
		"from the net": {`import x from "https://example.com/x.js"; export function registerAgentEvents() { x() }`,
			extensions.ImportFailed, "own folder"},
		"from a data url": {
			`import x from "data:text/javascript,export default 1"; export function registerAgentEvents() { x() }`,
			extensions.ImportFailed, "own folder"},
		"late registration": {
			`export function registerAgentEvents(r) { Promise.resolve().then(() => r.on("x", () => {})); throw new Error("first") }`,
			extensions.RegistrationFailed, "first"},
		"registers odd timers": {
			`setTimeout(() => { while (true) {} }, 1); export function registerAgentEvents() { return new Promise(() => {}) }`,
			extensions.ImportFailed, "loading"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := patient
			if c.message == "loading" {
				host = impatient
			}
			module, err := host.Load(t.Context(), source(extensionstest.Write(t, map[string]string{"events.mjs": c.code}),
				"events.mjs"))
			if err == nil {
				t.Cleanup(func() { extensionstest.Close(t, module) })
				t.Fatal("it was loaded")
			}
			var load *extensions.LoadError
			if !errors.As(err, &load) || load.Code != c.want || load.Extension != "@test/probe" {
				t.Fatalf("error is %v", err)
			}
			// If two limits expired, the error may name either.
			either := host == impatient && strings.Contains(load.Message, "past its time limit")
			if !strings.Contains(load.Message, c.message) && !either {
				t.Errorf("message is %q", load.Message)
			}
			if c.code == `throw new Error("boom"); export function registerAgentEvents() {}` && load.Message != "boom" {
				t.Errorf("message is %q and not the extension's own words", load.Message)
			}
		})
	}
}

func TestShapesOfTheExport(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{})
	for name, files := range map[string]map[string]string{
		"esm":   {"events.js": `export function registerAgentEvents(r) { r.on("e", () => "fine") }`},
		"const": {"events.js": `export const registerAgentEvents = (r) => r.on("e", () => "fine")`},
		"commonjs": {"events.js": `const h = require("./h.cjs"); exports.registerAgentEvents = (r) => { r.on("e", h) }`,
			"h.cjs": `module.exports = () => "fine"`},
		"module":  {"events.js": `module.exports = { registerAgentEvents(r) { r.on("e", () => "fine") } }`},
		"default": {"events.js": `export default { registerAgentEvents(r) { r.on("e", () => "fine") } }`},
		"re-export": {"events.js": `export * from "./lib/index.js"`,
			"lib/index.js":     `export { registerAgentEvents } from "./register.mjs"`,
			"lib/register.mjs": `export function registerAgentEvents(r) { r.on("e", () => "fine") }`},
		"json": {"events.js": `import {answer} from "./data.json"; export function registerAgentEvents(r) { r.on("e", () => answer) }`,
			"data.json": `{"answer": "fine"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			module, err := host.Load(t.Context(), source(extensionstest.Write(t, files), "events.js"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { extensionstest.Close(t, module) })
			extensionstest.Answers(t, module, 0)
		})
	}
}

// TypeScript with all syntax that Node's type stripping refuses, a helper imported as .js, one without an extension,
// and the SDK.
func TestTypeScriptAndSDK(t *testing.T) {
	t.Parallel()
	module, err := newHost(js.Limits{}).Load(t.Context(), source(extensionstest.Write(t, map[string]string{
		"events.ts": `import { AGENT_RUNTIME_CORE_API_VERSION, isRecord, selectEnqueueWinner, type AgentEventRegistry } from "@codex-manager/agent-runtime-sdk";
			import { shout } from "./lib/text.js";
			import type { Level } from "./lib/types";
			import { Levels } from "./lib/types";
			class Box { constructor(private readonly level: Level) {} get(): string { return shout(Levels[this.level]); } }
			export function registerAgentEvents(registry: AgentEventRegistry): void {
				registry.on("e", async (event, tools) => ({ version: AGENT_RUNTIME_CORE_API_VERSION, record: isRecord(event.payload), text: new Box(Levels.High).get(), winner: selectEnqueueWinner([]) satisfies null }));
			}`,
		"lib/text.ts":  `export const shout = (text: string): string => text.toUpperCase() + "!";`,
		"lib/types.ts": `export enum Levels { Low, High } export type Level = Levels;`,
	}), "events.ts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { extensionstest.Close(t, module) })
	if got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err != nil ||
		got != `{"version":1,"record":true,"text":"HIGH!","winner":null}` {
		t.Error(got, err)
	}
}

// A value declared with using is disposed of at the end of its block, last first, even if an error ends the block.
func TestUsingDisposes(t *testing.T) {
	t.Parallel()
	module, err := newHost(js.Limits{}).Load(t.Context(), source(extensionstest.Write(t, map[string]string{
		"events.ts": `export function registerAgentEvents(registry: any): void {
			registry.on("e", async () => {
				const seen: string[] = [];
				const made = (name: string) => ({ [Symbol.dispose]() { seen.push(name) } });
				const later = (name: string) => ({ async [Symbol.asyncDispose]() { await null; seen.push(name) } });
				{ using a = made("a"), b = made("b"); seen.push("in") }
				try { using c = made("c"); throw new Error("x") } catch { seen.push("caught") }
				{ await using d = later("d"); seen.push("in") }
				for (using e of [made("e1"), made("e2")]) seen.push("loop");
				try { using f = {} as any } catch (error) { seen.push((error as Error).name) }
				return seen.join();
			});
		}`}), "events.ts"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { extensionstest.Close(t, module) })
	if got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err != nil ||
		got != `"in,b,a,c,caught,in,d,loop,e1,loop,e2,TypeError"` {
		t.Error(got, err)
	}
}

func TestImportsAreConfined(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{})
	base := extensionstest.Write(t, map[string]string{
		"secret.json":                     `{"secret": 1}`,
		"secret.js":                       `export default 1`,
		"shared/lib.js":                   `export default "fine"`,
		"own/inner.js":                    `export default "fine"`,
		"own/node_modules/p/i.js":         `export default "fine"`,
		"own/node_modules/p/package.json": `{"name": "p", "main": "i.js"}`,
		"node_modules/q/index.js":         `export default 1`,
	})
	own := filepath.Join(base, "own")
	for link, to := range map[string]string{
		"link.js": filepath.Join(base, "secret.js"), "linkdir": base, "chain.js": "link.js", "good.js": "inner.js",
		"loop.js": "loop.js",
	} {
		if err := os.Symlink(to, filepath.Join(own, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, inside := range map[string]bool{
		"./inner.js": true, "./good.js": true, "./linkdir/own/inner.js": true, "../own/inner.js": true, "p": true,
		"../secret.json": false, "../secret.js": false, "./link.js": false, "./chain.js": false, "./linkdir/secret.js": false,
		"./loop.js": false, "q": false, filepath.Join(base, "secret.js"): false, "./inner.js/../../secret.js": false,
		"/etc/hostname": false, "./sub/../../secret.js": false,
	} {
		entry := "events-" + strings.NewReplacer("/", "-", ".", "_").Replace(path) + ".mjs"
		extensionstest.Put(t, own, map[string]string{entry: `import x from "` + path +
			`"; export function registerAgentEvents(r) { r.on("e", () => x) }`})
		module, err := host.Load(t.Context(), source(own, entry))
		if err == nil {
			t.Cleanup(func() { extensionstest.Close(t, module) })
			extensionstest.Answers(t, module, 0)
		}
		var load *extensions.LoadError
		if inside != (err == nil) || (err != nil && (!errors.As(err, &load) || load.Code != extensions.ImportFailed)) {
			t.Errorf("import of %s: %v", path, err)
		}
	}
	// Below the discovery root, unless trust is enforced.
	extensionstest.Put(t, own, map[string]string{
		"events.mjs": `import x from "../shared/lib.js"; export function registerAgentEvents(r) { r.on("e", () => x) }`})
	wide := source(own, "events.mjs")
	wide.SourceRoot = base
	module, err := host.Load(t.Context(), wide)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { extensionstest.Close(t, module) })
	extensionstest.Answers(t, module, 0)
	wide.Trust = extensions.TrustEnforced
	if module, err := host.Load(t.Context(), wide); err == nil {
		t.Cleanup(func() { extensionstest.Close(t, module) })
		t.Error("enforced trust lets imports leave the extension's folder")
	}
}

// A reload uses an edited helper (codex-manager keeps the old one), while the loaded extension keeps its own.
func TestHelperEditsArePickedUp(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{})
	dir := extensionstest.Write(t, map[string]string{
		"events.mjs": `import {n} from "./helper.mjs"; export function registerAgentEvents(r) { r.on("e", () => n) }`,
		"helper.mjs": `export const n = 1`,
	})
	first, err := host.Load(t.Context(), source(dir, "events.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { extensionstest.Close(t, first) })
	extensionstest.Put(t, dir, map[string]string{"helper.mjs": `export const n = 2`})
	second, err := host.Load(t.Context(), source(dir, "events.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { extensionstest.Close(t, second) })
	for module, want := range map[extensions.Module]string{first: "1", second: "2"} {
		if got, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err != nil || got != want {
			t.Errorf("%s, %v, want %s", got, err, want)
		}
	}
}

func TestCloseAndCancel(t *testing.T) {
	t.Parallel()
	host := newHost(js.Limits{})
	module, err := host.Load(t.Context(),
		source(extensionstest.Write(t, map[string]string{"events.mjs": extensionstest.Handlers(`() => { while (true) {} }`)}),
			"events.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	// Without a deadline, canceled while it loops.
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() {
		_, err := module.Handle(ctx, 0, extensionstest.Event(`{}`), &extensionstest.Tools{})
		out <- err
	}()
	cancel()
	if err := <-out; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for range 2 {
		if err := module.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if _, err := extensionstest.Handle(t, module, 0, &extensionstest.Tools{}); err == nil {
		t.Error("a closed extension answers")
	}
}
