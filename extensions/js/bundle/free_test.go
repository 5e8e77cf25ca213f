package bundle_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/extensions/js/bundle"
	"harness/tests/extensionstest"
)

// build bundles files; the first one is the entrypoint.
func build(t *testing.T, target bundle.Target, entry string, files map[string]string) (bundle.Result, error) {
	t.Helper()
	dir := extensionstest.Write(t, files)
	return bundle.Build(bundle.Options{Root: dir, Entry: filepath.Join(dir, entry), Target: target,
		Members: []string{"crypto.subtle", "globalThis.process", "globalThis.Intl"}})
}

// A name counts as a use only if no enclosing scope declares it, wherever else it appears. Its position refers to the
// author's source.
func TestUsesAreWhatTheCodeTakesFromOutside(t *testing.T) {
	t.Parallel()
	result, err := build(t, bundle.Embedded, "events.ts", map[string]string{
		"events.ts": `import { helper, type Shape } from "./lib/helper.js";
interface Buffer { process: string }
// Buffer and window in a comment
const text = "Buffer", own = { Buffer: 1, window: 2 };
function shadow(process: Shape, fetch = 1) { return [process, fetch, own.window]; }
export function registerAgentEvents(registry: any): void {
  registry.on("e", () => [shadow({} as any), text, helper(), "é😀" + Buffer.from("x"), { process }]);
  registry.on("e", () => typeof Intl === "undefined" ? 1 : new Intl.NumberFormat());
  registry.on("e", () => [globalThis.process?.env, crypto.subtle, crypto.randomUUID(), import.meta.url]);
}
`,
		"lib/helper.ts": "export type Shape = object;\nexport const unused = () => window;\nexport function helper(): " +
			"unknown { return (globalThis as any).Intl || document.title; }\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, use := range result.Uses {
		got = append(got, fmt.Sprintf("%s %s %v", use.Position(), use.Name, use.Guarded))
	}
	want := []string{
		"events.ts:7:70 Buffer false", "events.ts:7:90 process true", "events.ts:8:33 Intl true",
		"events.ts:9:52 crypto.subtle false", "events.ts:9:67 crypto false", "events.ts:9:88 import.meta.url false",
		"lib/helper.ts:3:45 Intl true", "lib/helper.ts:3:72 document false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Node's modules are refused where there is no Node. The error names every one, and the globals beside them.
func TestUsesNameModulesAndGlobalsAtOnce(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"events.mjs": "import { readFileSync } from \"node:fs\";\nimport { join } from \"./lib/paths.cjs\";\nexport " +
			"const registerAgentEvents = () => [readFileSync(join(__dirname, \"x\")), Buffer];\n",
		"lib/paths.cjs": "const path = require(\"path\");\nconst any = (name) => require(name);\nmodule.exports = { join: path.join, any };\n",
	}
	result, err := build(t, bundle.Embedded, "events.mjs", files)
	var refused *bundle.BuiltinError
	if !errors.As(err, &refused) || !strings.Contains(err.Error(), `"host": "node"`) ||
		!strings.Contains(err.Error(), "lib/paths.cjs:1:") {
		t.Errorf("refused with %v", err)
	}
	var got []string
	for _, use := range result.Uses {
		got = append(got, fmt.Sprintf("%s %s %v", use.Position(), use.Name, use.Module))
	}
	want := []string{
		"events.mjs:1:30 node:fs true", "events.mjs:3:61 __dirname false", "events.mjs:3:79 Buffer false",
		"lib/paths.cjs:1:22 path true", "lib/paths.cjs:2:23 require false",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	result, err = build(t, bundle.Node, "events.mjs", files)
	if err != nil {
		t.Fatal(err)
	}
	for _, use := range result.Uses {
		if use.Name == "__dirname" || use.Module {
			t.Errorf("for Node: %+v", use)
		}
	}
}
