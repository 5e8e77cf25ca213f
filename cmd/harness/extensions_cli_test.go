package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The shipped examples pass check and conformance; what is wrong with a folder is named.
func TestExtensionCommandsOverFolders(t *testing.T) {
	t.Parallel()
	examples, err := filepath.Abs("../../examples/agents")
	if err != nil {
		t.Fatal(err)
	}
	broken, empty := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "extension.manifest.json"), []byte("{\n\"name\":}"), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := t.TempDir()
	if err := os.WriteFile(filepath.Join(plain, "events.mjs"), []byte(`export default { registerAgentEvents(r) { r.on("turn.completed", () => 1); } };`), 0o600); err != nil {
		t.Fatal(err)
	}
	portable := t.TempDir()
	for name, text := range map[string]string{
		"events.mjs":              `export function registerAgentEvents(r) { r.on("turn.completed", (e, tools) => tools.enqueueJob({ type: "x", projectId: e.payload.context.projectId, payload: {} })); }`,
		"extension.manifest.json": `{"name":"p","version":"1.0.0","agentId":"p","displayName":"P","capabilities":{"events":["turn.completed"],"actions":["queue.enqueue"]}}`,
	} {
		if err := os.WriteFile(filepath.Join(portable, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	unruly := t.TempDir()
	for name, text := range map[string]string{"events.mjs": `export function registerAgentEvents() {}`, "agent.config.json": `{"turnPolicy":{"sandbox":"wide"}}`} {
		if err := os.WriteFile(filepath.Join(unruly, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		command, folder string
		code            int
		want            string
	}{
		{"check", filepath.Join(examples, "review-notes"), 0, "ok  "},
		// It names the one profile it was written for.
		{"conformance", filepath.Join(examples, "review-notes"), 1, "profile fixture-profile is not declared"},
		{"conformance", portable, 0, `"portableExtension": true`},
		{"check", filepath.Join(examples, "turn-log"), 0, "ok  "},
		{"check", plain, 0, "trust mode enforced refuses this"},
		{"conformance", plain, 1, "trust_denied"},
		{"check", broken, 1, "invalid_manifest: manifest is no JSON"},
		{"check", unruly, 1, `turnPolicy.sandbox is "wide"; use read-only, workspace-write, danger-full-access`},
		{"check", empty, 1, "there is no extension in"},
		{"check", filepath.Join(empty, "missing"), 2, "is no folder"},
	} {
		t.Run(c.command+" "+filepath.Base(c.folder), func(t *testing.T) {
			t.Parallel()
			var out, errors strings.Builder
			if code := run(t.Context(), []string{"extensions", c.command, c.folder}, &out, &errors); code != c.code || !strings.Contains(out.String()+errors.String(), c.want) {
				t.Errorf("exit %d\n%s\n%s", code, out.String(), errors.String())
			}
		})
	}
}
