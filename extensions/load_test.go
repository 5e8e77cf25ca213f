package extensions_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/extensions"
	"harness/extensions/sdk"
)

// LC-02, EX-34: origins, skipped folders, one folder through two roots, and an order that does not depend on the order
// of file creation.
func TestDiscovery_LC02_EX34(t *testing.T) {
	t.Parallel()
	agents, packages, configured := folder(t), folder(t), folder(t)
	script := "e - - 1"
	write(t, agents, map[string]string{"b/events.js": script, "a/events.ts": script, "lib/events.js": script,
		"runtime/events.js": script, ".hidden/events.js": script, "notes/readme.md": "", "file.js": ""})
	write(t, packages, map[string]string{"lib/events.mjs": script, "a2/events.mjs": script,
		"node_modules/x/events.js": script})
	// Its path sorts after the packages' path, its module name before theirs.
	later := packages + "-later"
	write(t, later, map[string]string{"a1/events.js": script})
	write(t, configured, map[string]string{"events.js": script, "inner/extension.manifest.json": manifest("inner", ""),
		"inner/events.js": script})
	if err := os.Symlink(agents+"/a", packages+"/linked"); err != nil {
		t.Fatal(err)
	}
	roots := []extensions.Root{
		{Type: extensions.ConfiguredRoot, Path: configured}, {Type: extensions.ConfiguredRoot, Path: packages},
		{Type: extensions.InstalledPackage, Path: packages}, {Type: extensions.RepoLocal, Path: agents},
		{Type: extensions.RepoLocal, Path: filepath.Join(agents, "missing")}, {Type: extensions.InstalledPackage, Path: later},
	}
	var first string
	for range 3 {
		r := registry(t, extensions.Options{Roots: roots})
		for _, problem := range r.Load(t.Context()) {
			t.Fatal(problem)
		}
		var got []string
		for _, m := range r.List().Modules {
			got = append(got, string(m.Origin.Type)+":"+m.ModuleName)
		}
		want := "repo_local:a repo_local:b installed_package:a1 installed_package:a2 installed_package:lib configured_root:" +
			filepath.Base(configured) + " configured_root:inner"
		// The configured root's own name is random: it may sort after "inner".
		if filepath.Base(configured) > "inner" {
			want = "repo_local:a repo_local:b installed_package:a1 installed_package:a2 installed_package:lib " +
				"configured_root:inner configured_root:" + filepath.Base(configured)
		}
		if first = strings.Join(got, " "); first != want {
			t.Fatalf("got  %s\nwant %s", first, want)
		}
		roots[0], roots[3] = roots[3], roots[0]
	}
}

// LC-05 and every code of a failed load; errors name the manifest's problems precisely.
func TestLoadErrors_LC05(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, manifest, events string
		trust                  extensions.TrustMode
		code                   extensions.LoadCode
		extension, message     string
	}{
		{"syntax", "{\n \"name\": }", "e - - 1", "", "invalid_manifest", "m", "(line 2 column 10)"},
		{"no object", "[]", "e - - 1", "", "invalid_manifest", "m", "manifest shape is invalid or missing required fields"},
		{"missing", `{"name":"x","version":"1","displayName":" "}`, "e - - 1", "", "invalid_manifest", "m",
			"missing required fields: agentId, displayName"},
		{"core", manifest("m", `,"runtime":{"coreApiVersion":2,"coreApiVersionRange":">=2 <3"}`), "e - - 1", "",
			"incompatible_runtime", "@t/m",
			"requires coreApiVersion=2; runtime=1; requires coreApiVersionRange=>=2 <3; runtime=1"},
		{"profile", manifest("m", `,"runtime":{"profiles":[{"name":"other"}]}`), "e - - 1", "",
			"incompatible_runtime", "@t/m", "profile codex-manager is not declared in manifest runtime.profiles"},
		{"profile version",
			manifest("m", `,"runtime":{"profiles":[{"name":"codex-manager","version":"2.0.0","versionRange":"^3"}]}`), "e - - 1",
			"", "incompatible_runtime", "@t/m",
			"requires profile version 2.0.0; runtime=1.0.0; requires profile versionRange ^3; runtime=1.0.0"},
		{"entrypoint", manifest("m", `,"entrypoints":{"events":"gone.js"}`), "-", "", "missing_entrypoint", "@t/m",
			"entrypoints.events gone.js does not exist"},
		{"escape", manifest("m", `,"entrypoints":{"events":"../../outside.js"}`), "-", "", "missing_entrypoint", "@t/m",
			"is outside of"},
		{"import", manifest("m", ""), "throw boom", "", "import_failed", "@t/m", "boom"},
		{"register", manifest("m", ""), "", "", "missing_register", "@t/m", extensions.MissingRegisterText},
		{"registration", manifest("m", ""), "register throw reg boom", "", "registration_failed", "@t/m", "reg boom"},
		{"undeclared", manifest("m", `,"capabilities":{"events":["other"]}`), "e - - 1", extensions.TrustEnforced,
			"trust_denied", "@t/m", "extension @t/m registered undeclared event capability: e"},
		{"nothing declared", manifest("m", ""), "e - - 1", extensions.TrustEnforced, "trust_denied", "@t/m",
			"has no manifest capabilities declaration"},
		{"host", manifest("m", `,"runtime":{"host":"wasm"}`), "e - - 1", "", "invalid_manifest", "@t/m",
			`runtime.host "wasm" is unknown`},
		{"process enforced", manifest("m", `,"runtime":{"host":"node"},"capabilities":{"events":["*"],"host":["exec"]}`),
			"e - - 1", extensions.TrustEnforced, "trust_denied", "@t/m", "wants a process of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			above := folder(t)
			root := filepath.Join(above, "root")
			write(t, above, map[string]string{"outside.js": "e - - 1"})
			write(t, root, map[string]string{"good/events.js": "e - - 1",
				"good/extension.manifest.json": manifest("good", `,"capabilities":{"events":["*"]}`)})
			host := &scriptHost{}
			r := registry(t, extensions.Options{Trust: extensions.TrustPolicy{Mode: c.trust}, Hosts: []extensions.Host{host},
				Roots: []extensions.Root{{Type: extensions.InstalledPackage, Path: root}}})
			if problems := r.Load(t.Context()); problems != nil {
				t.Fatal(problems)
			}
			before := r.SnapshotVersion()
			write(t, root, map[string]string{"m/extension.manifest.json": c.manifest})
			if c.events != "-" {
				write(t, root, map[string]string{"m/events.mjs": c.events})
			}
			result := r.Reload(t.Context(), "reload-1")
			if result.Code != extensions.ReloadFailed || result.SnapshotVersion != before || r.SnapshotVersion() != before ||
				len(result.Errors) != 1 {
				t.Fatalf("%+v", result)
			}
			got := result.Errors[0]
			if got.Extension != c.extension || got.Code != c.code || !strings.Contains(got.Message, c.message) {
				t.Errorf("got %s", shape(t, got))
			}
			if len(emit(t, r, "e")) != 1 {
				t.Error("the prior snapshot does not serve any more")
			}
			if host.open.Load()-host.closed.Load() != 1 {
				t.Errorf("%d modules left open by the failed reload", host.open.Load()-host.closed.Load()-1)
			}
			// At startup the broken extension is skipped, and the others serve.
			if problems := r.Load(t.Context()); len(problems) != 1 || len(r.List().Modules) != 1 {
				t.Errorf("start: %v, %d modules", problems, len(r.List().Modules))
			}
		})
	}
}

// EX-03, EX-04: versions and ranges that match.
func TestCompatible_EX03_EX04(t *testing.T) {
	t.Parallel()
	for _, requirement := range []string{
		``, `,"runtime":{}`, `,"runtime":{"coreApiVersion":1}`, `,"runtime":{"coreApiVersion":1.9}`,
		`,"runtime":{"coreApiVersionRange":">=1 <2"}`, `,"runtime":{"coreApiVersionRange":"1.x || 3"}`,
		`,"runtime":{"coreApiVersionRange":"^1.0.0","profiles":[]}`,
		`,"runtime":{"profiles":[{"name":"other"},{"name":"codex-manager","version":"1","versionRange":">=1 <2"}]}`,
		`,"runtime":{"profiles":[{"name":"codex-manager","version":"v1.0"}]}`, `,"runtime":{"coreApiVersion":"1"}`,
	} {
		root := folder(t)
		write(t, root, map[string]string{"m/events.js": "e - - 1", "m/extension.manifest.json": manifest("m", requirement)})
		r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}})
		if problems := r.Load(t.Context()); problems != nil {
			t.Errorf("%s: %v", requirement, problems)
		}
	}
}

// agentIds are unique: the second extension in order is refused.
func TestAgentIDConflict(t *testing.T) {
	t.Parallel()
	root := folder(t)
	write(t, root, map[string]string{"one/events.js": "e - - 1", "one/extension.manifest.json": manifest("same", ""),
		"two/events.js": "e - - 1", "two/extension.manifest.json": manifest("same", "")})
	r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.RepoLocal, Path: root}}})
	result := r.Reload(t.Context(), "")
	if len(result.Errors) != 1 ||
		shape(t, result.Errors[0]) != `{"extension":"@t/same","code":"agent_id_conflict","message":"agentId \"same\" `+
			`conflicts with module one"}` {
		t.Fatalf("%s", shape(t, result.Errors))
	}
}

// LC-01, LC-03: the listing has codex-manager's keys and values.
func TestListing_LC01_LC03(t *testing.T) {
	t.Parallel()
	root := folder(t)
	write(t, root, map[string]string{
		"ext-one/events.mjs": "turn.completed - - 1\nturn.completed - - 2",
		"ext-one/extension.manifest.json": manifest("ext-one",
			`,"runtime":{"coreApiVersion":1,"coreApiVersionRange":">=1 <2"},"capabilities":{"actions":["bogus.action",7]}`),
		"plain/events.js": "e - - 1",
	})
	r := registry(t, extensions.Options{Roots: []extensions.Root{{Type: extensions.InstalledPackage, Path: root}}})
	r.Load(t.Context())
	listing := r.List()
	got := strings.ReplaceAll(shape(t, listing.Modules[0]), root, "ROOT")
	want := `{"moduleName":"ext-one","name":"@t/ext-one","version":"1.0.0","agentId":"ext-one",` +
		`"displayName":"ext-one","manifestPath":"ROOT/ext-one/extension.manifest.json",` +
		`"entrypointPath":"ROOT/ext-one/events.mjs","events":["turn.completed"],"origin":{"type":"installed_package","path":"ROOT/ext-one"},` +
		`"compatibility":{"apiVersion":1,"apiVersionRange":"\u003e=1 \u003c2","runtimeVersion":1,` +
		`"profileId":"codex-manager","profileVersion":"1.0.0","compatible":true,"reasons":[]},` +
		`"capabilities":{"events":[],"actions":["bogus.action"]},"trust":{"mode":"warn","status":"accepted_with_warnings",` +
		`"warnings":["extension @t/ext-one registered undeclared event capability: turn.completed"],"errors":[]},` +
		`"diagnostics":["extension.manifest.json: capabilities.actions[1] is no non-empty string and is ignored"]}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	plain := listing.Modules[1]
	if plain.Version != "0.0.0" || plain.ManifestPath != nil || plain.Compatibility.APIVersion != nil ||
		len(plain.Trust.Warnings) != 2 {
		t.Errorf("without a manifest: %s", shape(t, plain))
	}
}

// EX-35: a native extension uses only the SDK.
func TestNativeExtensionFailsToRegister(t *testing.T) {
	t.Parallel()
	r := registry(t, extensions.Options{
		Native: []sdk.Extension{{ModuleName: "n", Register: func(*sdk.Registry) { panic("no") }}, {ModuleName: "empty"}}})
	got, err := json.Marshal(r.Load(t.Context()))
	want := `[{"extension":"n","code":"registration_failed","message":"no"},{"extension":"empty",` +
		`"code":"missing_register","message":"module does not export registerAgentEvents"}]`
	if err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
}
