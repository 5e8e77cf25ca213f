package bundle_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/extensions/js/bundle"
	"harness/tests/extensionstest"
)

// An extension's own tsconfig.json, with the files it extends, determines where imports are found and how code is
// translated. A file outside the extension's folders does not.
func TestTheExtensionsOwnTsconfigCounts(t *testing.T) {
	t.Parallel()
	const register = "export function registerAgentEvents(r: any): void { r.on('e', () => value) }\n"
	for name, c := range map[string]struct {
		files map[string]string
		has   string // text that the code must contain
	}{
		"paths": {map[string]string{"tsconfig.json": `{"compilerOptions": {"paths": {"@lib/*": ["./src/lib/*"]}}}`,
			"events.ts": `import { value } from "@lib/deep/v";` + register, "src/lib/deep/v.ts": "export const value = 'found-it'"}, "found-it"},
		"paths with a base": {map[string]string{"tsconfig.json": `{"compilerOptions": {"baseUrl": "src", "paths": {"#v": ["none", "lib/v.ts"]}}}`,
			"events.ts": `import { value } from "#v";` + register, "src/lib/v.ts": "export const value = 'found-it'"}, "found-it"},
		"a base": {map[string]string{"tsconfig.json": `{"compilerOptions": {"baseUrl": "./src"}}`,
			"events.ts": `import { value } from "lib/v";` + register, "src/lib/v.ts": "export const value = 'found-it'"}, "found-it"},
		"comments, and an end": {map[string]string{"tsconfig.json": "\ufeff{ // why\n \"compilerOptions\": { /* \"baseUrl\": \"x\", */\n" +
			" \"baseUrl\": \"./src\", \"lib\": [\"es2023\",], },\n}\n",
			"events.ts": `import { value } from "lib/v";` + register, "src/lib/v.ts": "export const value = 'http://found-it'"}, "found-it"},
		"above the entry": {map[string]string{"tsconfig.json": `{"compilerOptions": {"paths": {"@lib/*": ["./lib/*"]}}}`,
			"src/events.ts": `import { value } from "@lib/v";` + register, "lib/v.ts": "export const value = 'found-it'"}, "found-it"},
		"extends": {map[string]string{"tsconfig.json": `{"extends": ["./config/base", "shared/tsconfig.base.json"]}`,
			"config/base.json":                       `{"compilerOptions": {"paths": {"@lib/*": ["../lib/*"]}}}`,
			"node_modules/shared/tsconfig.base.json": `{"compilerOptions": {"jsx": "react", "jsxFactory": "make"}}`,
			"events.tsx":                             `import { v } from "@lib/v"; const make = (n: string) => n + v; const value = <b/>;` + register,
			"lib/v.ts":                               "export const v = 'found-it'"}, `make("b"`},
		"a template": {map[string]string{"tsconfig.json": `{"extends": "./config/base.json"}`,
			"config/base.json": `{"compilerOptions": {"paths": {"@lib/*": ["${configDir}/lib/*"]}}}`,
			"events.ts":        `import { value } from "@lib/v";` + register, "lib/v.ts": "export const value = 'found-it'"}, "found-it"},
		"decorators": {map[string]string{"tsconfig.json": `{"compilerOptions": {"experimentalDecorators": true}}`,
			"events.ts": "function d(target: any, key: string) { target[key + 'Seen'] = true }\nclass A { @d x() {} }\nconst value = new A();" +
				register}, "__decorateClass"},
		"fields": {map[string]string{"tsconfig.json": `{"compilerOptions": {"useDefineForClassFields": false}}`,
			"events.ts": "class A { x = 1 }\nconst value = new A();" + register}, "this.x = 1"},
		"jsx": {map[string]string{"tsconfig.json": `{"compilerOptions": {"jsx": "react-jsx", "jsxImportSource": "ui"}}`,
			"events.tsx": "const value = <b/>;" + register, "node_modules/ui/jsx-runtime.js": "export const jsx = (n) => 'made-' + n"}, "made-"},
		"jsx of others": {map[string]string{"tsconfig.json": `{"compilerOptions": {"jsx": "preserve", "jsxFactory": "h"}}`,
			"events.tsx": "const h = (n: string) => n; const value = <b/>;" + register}, `h("b"`},
		"none": {map[string]string{"events.ts": "class A { x = 1 }\nconst value = new A();" + register}, "x = 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			entry := "events.ts"
			for file := range c.files {
				if strings.Contains(file, "events.ts") {
					entry = file
				}
			}
			for _, target := range []bundle.Target{bundle.Embedded, bundle.Node} {
				result, err := build(t, target, entry, c.files)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.Contains(string(result.Code), c.has) {
					t.Errorf("there is no %q in\n%s", c.has, result.Code)
				}
				_, own := c.files["tsconfig.json"]
				if own != slices.ContainsFunc(result.Files, func(f string) bool { return filepath.Base(f) == "tsconfig.json" }) {
					t.Errorf("it was made from %q", result.Files)
				}
			}
		})
	}
}

// Settings cannot make an import or a settings file resolve outside the folder; errors in settings name their file.
func TestATsconfigIsConfined(t *testing.T) {
	t.Parallel()
	const events = `import { value } from "@lib/v"; export function registerAgentEvents(r) { r.on("e", () => value) }`
	for name, c := range map[string]struct{ tsconfig, says string }{
		"paths out":      {`{"compilerOptions": {"paths": {"@lib/*": ["../outside/*"]}}}`, "leads out of the extension's folder"},
		"a base out":     {`{"compilerOptions": {"baseUrl": "..", "paths": {"@lib/*": ["outside/*"]}}}`, "leads out of the extension's folder"},
		"extends out":    {`{"extends": "../outside/base.json"}`, "lies outside"},
		"extends none":   {`{"extends": "./none.json"}`, `extends "`},
		"extends itself": {`{"extends": "./tsconfig.json"}`, "extend each other"},
		"no JSON":        {"{\n\"compilerOptions\": [}", "tsconfig.json cannot be read"},
		"wrong paths":    {`{"compilerOptions": {"paths": ["x"]}}`, "compilerOptions.paths"},
	} {
		dir := extensionstest.Write(t, map[string]string{"own/events.ts": events, "own/tsconfig.json": c.tsconfig,
			"outside/v.ts": "export const value = 'stolen'", "outside/base.json": `{"compilerOptions": {"paths": {"@lib/*": ["./*"]}}}`})
		result, err := bundle.Build(bundle.Options{Root: filepath.Join(dir, "own"), Entry: filepath.Join(dir, "own", "events.ts")})
		if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(string(result.Code), "stolen") {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
	dir := extensionstest.Write(t, map[string]string{"own/events.ts": events,
		"tsconfig.json": `{"compilerOptions": {"paths": {"@lib/*": ["./own/*"]}}}`, "own/v.ts": "export const value = 1"})
	if _, err := bundle.Build(bundle.Options{Root: filepath.Join(dir, "own"), Entry: filepath.Join(dir, "own", "events.ts")}); err == nil {
		t.Error("settings of a folder above counted")
	}
}

// Top-level await is refused where it does not work, with a remedy.
func TestTopLevelAwaitIsRefusedWithAdvice(t *testing.T) {
	t.Parallel()
	for name, code := range map[string]string{
		"plain": "const value = await Promise.resolve(1);\nexport function registerAgentEvents(r) { r.on('e', () => value) }",
		"loop":  "for await (const x of []) x();\nexport function registerAgentEvents() {}",
		"using": "await using x = {async [Symbol.asyncDispose]() {}};\nexport function registerAgentEvents() {}",
	} {
		files := map[string]string{"events.mjs": code}
		if _, err := build(t, bundle.Embedded, "events.mjs", files); err == nil ||
			!strings.Contains(err.Error(), `{"host": "node"}`) || !strings.Contains(err.Error(), "events.mjs:1:") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := build(t, bundle.Node, "events.mjs", files); err != nil {
			t.Errorf("%s for Node: %v", name, err)
		}
	}
}
