package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp"
	"harness/internal/runtime/claude"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/opencode"
	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/stdio"
	"harness/server"
)

const matrixPage = "../../docs/runtimes/README.md"

// RA-01: the page lists the capabilities that each adapter reports for its runtime. HARNESS_UPDATE=1 regenerates it.
func TestTheCapabilityMatrixIsCurrent(t *testing.T) {
	t.Parallel()
	const begin = "<!-- made from the adapters: HARNESS_UPDATE=1 go test ./cmd/harness -run TestTheCapabilityMatrixIsCurrent -->\n"
	const end = "<!-- end -->\n"
	written, err := os.ReadFile(matrixPage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(written), begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		t.Fatalf("%s has no place for the matrix", matrixPage)
	}
	page := before + begin + capabilityMatrix(everyAdapter(t)) + end + after
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(matrixPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(written) != page {
		t.Errorf("%s is out of date; write it anew with HARNESS_UPDATE=1", matrixPage)
	}
	for _, name := range server.RuntimeNames() {
		if !strings.Contains(page, "| `"+name+"` |") {
			t.Errorf("the page does not say how to install %s", name)
		}
	}
}

// RA-27: each runtime has a page. It lists the tested versions, how to install and log in, the files that the runtime
// reads itself, and its restrictions. It also covers parallel calls, MCP, stopping and failures.
func TestEachRuntimeHasItsPage(t *testing.T) {
	t.Parallel()
	index, err := os.ReadFile(matrixPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, adapter := range everyAdapter(t) {
		name, _, _ := strings.Cut(adapter.Name(), ":")
		row := regexp.MustCompile("(?m)^\\| `" + name + "(?::name)?` \\| \\[[^]]*\\]\\(([^)#]+)").FindSubmatch(index)
		if row == nil {
			t.Errorf("%s has no page in %s", adapter.Name(), matrixPage)
			continue
		}
		page, err := os.ReadFile(filepath.Join(filepath.Dir(matrixPage), string(row[1])))
		if err != nil {
			t.Fatal(err)
		}
		install := adapter.(runtime.Installer).Install()
		for _, said := range append([]string{install.Command}, install.Tested...) {
			if !strings.Contains(string(page), said) {
				t.Errorf("the page of %s does not say %q", adapter.Name(), said)
			}
		}
		for _, about := range []string{`(?i)log ?in`, `(?i)reads? by (itself|themselves)|settings`, `(?i)what is enforced|\*\*sandbox\*\*`,
			`(?i)\*\*calls in parallel\*\*`, `MCP`, `\*\*Stopping\*\*`, `\*\*Protocol\*\*`, `(?i)fails|failures|\*\*silence\*\*`} {
			if !regexp.MustCompile(about).Match(page) {
				t.Errorf("the page of %s says nothing about %s", adapter.Name(), about)
			}
		}
	}
}

// everyAdapter makes one adapter of each runtime, and of a configured agent, as a server on a machine with bubblewrap
// makes them.
func everyAdapter(t *testing.T) (adapters []runtime.Adapter) {
	t.Helper()
	programs := t.TempDir()
	for _, name := range []string{"bwrap", "socat"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte("#!/bin/sh\n"),
			0o700); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	setup := func(name string) stdio.Setup {
		return stdio.Setup{Launch: stdio.Launch{Name: name, Shims: &shim.Host{RunDir: t.TempDir()}, Detach: true,
			Env: []string{"PATH=" + programs}}}
	}
	adapters = []runtime.Adapter{
		codex.New(codex.Options{Setup: setup(codex.Name)}), claude.New("", setup(claude.Name)),
		opencode.New(opencode.Options{Setup: setup(opencode.Name), Bridge: []string{"harness"}}),
	}
	own, err := acp.Configured(`{"name":"any command"}`)
	if err != nil {
		t.Fatal(err)
	}
	for _, profile := range append(acp.Shipped(), own...) {
		adapters = append(adapters, acp.New(acp.Options{Profile: profile, Setup: setup(profile.Name)}))
	}
	return adapters
}

// capabilityMatrix has one row per capability and one column per adapter.
func capabilityMatrix(adapters []runtime.Adapter) string {
	var out strings.Builder
	head, rule := "|", "|---|"
	for _, adapter := range adapters {
		head += " | " + adapter.Name()
		rule += "---|"
	}
	fmt.Fprintf(&out, "%s |\n%s\n", head, rule)
	fields := reflect.VisibleFields(reflect.TypeFor[runtime.Capabilities]())
	for i, field := range slices.Clone(fields) {
		if field.Name != "Facts" {
			continue
		}
		fields = slices.Delete(fields, i, i+1)
		for _, fact := range reflect.VisibleFields(field.Type) { // only the task API shows it
			fact.Index = append(slices.Clone(field.Index), fact.Index...)
			fields = append(fields, fact)
		}
	}
	for _, field := range fields {
		name := field.Tag.Get("json")
		if name == "-" { // not part of the response
			continue
		}
		fmt.Fprintf(&out, "| `%s`", name)
		for _, adapter := range adapters {
			fmt.Fprintf(&out, " | %s",
				cell(reflect.ValueOf(runtime.CapabilitiesOf(adapter)).FieldByIndex(field.Index).Interface()))
		}
		out.WriteString(" |\n")
	}
	return out.String()
}

func cell(value any) string {
	switch value := value.(type) {
	case bool:
		return map[bool]string{true: "yes", false: "no"}[value]
	case []string:
		return strings.Join(value, ", ")
	default:
		return fmt.Sprint(value)
	}
}
