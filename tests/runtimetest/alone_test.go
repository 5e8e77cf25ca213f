package runtimetest_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// wiring are the folders that may name an adapter: the program that connects them, tests of them, and tests that use
// them.
var wiring = []string{"cmd/harness/", "server/", "tests/"}

// isAdapter matches a method that every adapter has, and no other code.
var isAdapter = regexp.MustCompile(`(?m)^func \(\w+ \*\w+\) CheckReply\(`)

// Another runtime is a folder and a line in the wiring: no shipped package imports an adapter, or contains the name
// of the test adapter.
func TestAdaptersAreKnownToTheWiringAlone(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	adapters, imports := map[string]bool{}, map[string][]string{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(file, root+string(filepath.Separator)))
		if entry.IsDir() {
			if file != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" ||
				entry.Name() == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if (strings.HasPrefix(name, "internal/runtime/") || strings.HasPrefix(name, "tests/runtimetest/")) && isAdapter.Match(text) {
			adapters["harness/"+path.Dir(name)] = true
		}
		if !strings.HasPrefix(name, "tests/") &&
			strings.Contains(string(text), `"scripted"`) {
			t.Errorf("%s names the scripted agent", name)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports[name] = append(imports[name], imported)
		}
		return nil
	})
	if err != nil || !adapters["harness/internal/runtime/codex"] || !adapters["harness/tests/runtimetest/scripted"] {
		t.Fatalf("found the adapters %v: %v", adapters, err)
	}
	wired := 0
	for name, imported := range imports {
		for _, one := range imported {
			switch {
			case !adapters[one] || strings.HasPrefix("harness/"+name, one+"/"):
			case slices.ContainsFunc(wiring, func(place string) bool { return strings.HasPrefix(name, place) }):
				wired++
			default:
				t.Errorf("%s imports the adapter %s", name, one)
			}
		}
	}
	if wired == 0 {
		t.Error("nothing wires an adapter")
	}
}
