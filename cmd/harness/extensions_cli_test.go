package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The shipped examples pass check and conformance; problems of a folder are named.
func TestExtensionCommandsOverFolders(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../docs/examples/agents")
	if err != nil {
		t.Fatal(err)
	}
	broken, empty := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "extension.manifest.json"), []byte("{\n\"name\":}"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "events.mjs"),
		[]byte(`export default { registerAgentEvents(r) { r.on("turn.completed", () => 1); } };`), 0o600); err != nil {
		t.Fatal(err)
	}
	movable := t.TempDir()
	for name, text := range map[string]string{
		"events.mjs": `export function registerAgentEvents(r) { r.on("turn.completed", (e, tools) => ` +
			`tools.enqueueJob({ type: "x", projectId: e.payload.context.projectId, payload: {} })); }`,
		"extension.manifest.json": `{"name":"p","version":"1.0.0","agentId":"p","displayName":"P",` +
			`"capabilities":{"events":["turn.completed"],"actions":["queue.enqueue"]}}`,
	} {
		if err := os.WriteFile(filepath.Join(movable, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unruly := t.TempDir()
	for name, text := range map[string]string{"events.mjs": `export function registerAgentEvents() {}`,
		"agent.config.json": `{"turnPolicy":{"sandbox":"wide"}}`} {
		if err := os.WriteFile(filepath.Join(unruly, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// Names that the code uses and its host lacks, with their positions.
	folder := func(manifest, code string) string {
		dir := t.TempDir()
		files := map[string]string{"events.ts": code}
		if manifest != "" {
			files["extension.manifest.json"] = `{"name":"m","version":"1.0.0","agentId":"m","displayName":"M",` + manifest + `}`
		}
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	const needsNode = "import { join } from \"node:path\";\nexport const registerAgentEvents = (r: any) => " +
		"r.on(\"e\", () => Buffer.from(join(\"a\", \"b\")));\n"
	const usesMuch = "export const registerAgentEvents = (r: any) =>\n  r.on(\"e\", () => [Intl, windwo, typeof " +
		"process, new URL(\"http://h\"), globalThis.Blob]);\n"
	const fetches = "export const registerAgentEvents = (r: any) => r.on(\"e\", () => fetch(\"https://h/\"));\n"
	for _, c := range []struct {
		command, folder string
		code            int
		want            string
	}{
		{"check", filepath.Join(examples, "review-notes"), 0, "ok  "},
		// The error names the one profile for which it was written.
		{"conformance", filepath.Join(examples, "review-notes"), 1, "profile fixture-profile is not declared"},
		{"conformance", movable, 0, `"portableExtension": true`},
		{"check", filepath.Join(examples, "turn-log"), 0, "ok  "},
		{"check", plain, 0, "trust mode enforced refuses this"},
		{"conformance", plain, 1, "trust_denied"},
		{"check", broken, 1, "invalid_manifest: manifest is no JSON"},
		{"check", unruly, 1, `turnPolicy.sandbox is "wide"; use read-only, workspace-write, danger-full-access`},
		{"check", empty, 1, "there is no extension in"},
		{"check", filepath.Join(empty, "missing"), 2, "is no folder"},
		{"check", folder("", needsNode), 0,
			"note     runs in a Node process: it uses node:path (events.ts:1:22), Buffer (events.ts:2:64), which only Node has"},
		{"check", folder(`"runtime":{"host":"embedded"}`, needsNode), 1,
			"events.ts:2:64: Buffer is not there in embedded extensions. Run this extension in Node:"},
		{"check", folder(`"runtime":{"host":"embedded"}`, needsNode), 1,
			"import_failed: events.ts:1:22: node:path is a module of Node. Run this extension in Node:"},
		{"check", folder(`"runtime":{"host":"embedded"}`, usesMuch), 1,
			"error    events.ts:2:20: Intl is not there in embedded extensions."},
		{"check", folder(`"runtime":{"host":"embedded"}`, usesMuch), 1,
			"error    events.ts:2:26: windwo is declared nowhere."},
		{"check", folder(`"runtime":{"host":"embedded"}`, usesMuch), 1,
			"note     events.ts:2:41: process is not there, and the code looks for it first"},
		{"check", folder(`"runtime":{"host":"node"}`, usesMuch), 1,
			"error    events.ts:2:26: windwo is declared nowhere, and the Node of this server does not have it."},
		{"check", folder("", fetches), 1,
			`error    events.ts:1:64: fetch is not declared: name the hosts in the manifest, as in "capabilities": {"host": ` +
				`["net:api.example.com"]}`},
		{"check", folder(`"capabilities":{"events":["e"],"actions":[],"host":["net:h"]}`, fetches), 0, "ok       m 1.0.0"},
	} {
		t.Run(c.command+" "+c.want, func(t *testing.T) {
			t.Parallel()
			var out, errors strings.Builder
			if code := run(t.Context(), []string{"extensions", c.command, c.folder}, &out, &errors); code != c.code ||
				!strings.Contains(out.String()+errors.String(), c.want) {
				t.Errorf("exit %d\n%s\n%s", code, out.String(), errors.String())
			}
		})
	}
}

// A child gets the environment variables that the operator names; check loads extensions like the server does.
func TestExtensionsSeeThePassedEnvironment(t *testing.T) {
	dir := t.TempDir()
	code := `if (process.env.ACME_TOKEN !== "t0ken") throw new Error("no token: " + process.env.ACME_TOKEN); export ` +
		`const registerAgentEvents = () => {};`
	if err := os.WriteFile(filepath.Join(dir, "events.mjs"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("ACME_TOKEN", "t0ken")
	var out, errors strings.Builder
	if code := run(t.Context(), []string{"extensions", "check", dir}, &out, &errors); code != 1 ||
		!strings.Contains(out.String(), "no token: undefined") {
		t.Errorf("exit %d\n%s\n%s", code, out.String(), errors.String())
	}
	t.Setenv("HARNESS_EXTENSION_PASS_ENV", "OTHER,ACME_TOKEN")
	out.Reset()
	if code := run(t.Context(), []string{"extensions", "check", dir}, &out, &errors); code != 0 {
		t.Errorf("exit %d\n%s\n%s", code, out.String(), errors.String())
	}
}
