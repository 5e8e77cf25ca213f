package wire

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// spoken are the places that may contain names of the vocabulary: this package, the adapter of the runtime with these
// names, the routes for that runtime alone, the protocol of its front ends and the pipe to it, tests and benchmarks, and
// the client, which imports nothing of the server.
var spoken = []string{"internal/runtime/wire/", "internal/runtime/codex/", "api/compat/", "api/appserver/",
	"cmd/harness/bridge/appserver.go", "tests/", "client/"}

// files have other words with the same name as an item: a subject of requests, and a role of AG-UI.
var files = []string{"internal/runtime/asked.go", "api/agui/items.go"}

// Only this package has the names of the vocabulary: any other copy would need a change for the next runtime.
func TestNamesStandHereAlone(t *testing.T) {
	t.Parallel()
	forbidden := names(t)
	for _, text := range []string{MethodTurnCompleted, `{"method":"item/future/thing"}`, "user " + ItemFileChange + ":"} {
		if !forbidden.MatchString(text) {
			t.Errorf("%q would not be found", text)
		}
	}
	root := filepath.Join("..", "..", "..")
	checked := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if entry.IsDir() {
			if name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata" ||
				entry.Name() == "node_modules" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") || slices.Contains(files, name) ||
			slices.ContainsFunc(spoken, func(place string) bool { return strings.HasPrefix(name, place) }) {
			return nil
		}
		checked++
		literals(t, path, func(at token.Position, text string) {
			if found := forbidden.FindStringSubmatch(text); found != nil {
				t.Errorf("%s:%d writes %q out: use the constant of internal/runtime/wire", name, at.Line, found[1])
			}
		})
		return nil
	})
	if err != nil || checked < 100 {
		t.Fatalf("looked at %d files: %v", checked, err)
	}
}

// names matches the vocabulary in a text: its constants, except plain words, and any text in the form of its methods.
func names(t *testing.T) *regexp.Regexp {
	t.Helper()
	var found []string
	for _, file := range []string{"wire.go", "item.go"} {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(parsed, func(node ast.Node) bool {
			spec, ok := node.(*ast.ValueSpec)
			if !ok || len(spec.Values) != 1 || !strings.HasPrefix(spec.Names[0].Name, "Method") &&
				!strings.HasPrefix(spec.Names[0].Name, "Item") {
				return true
			}
			if text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value); err != nil {
				t.Fatal(err)
			} else if text != MethodError && text != MethodWarning && text != ItemPlan {
				found = append(found, regexp.QuoteMeta(text))
			}
			return false
		})
	}
	return regexp.MustCompile(`(?:^|[^A-Za-z/])(` + strings.Join(found, "|") +
		`|(?:thread|turn|item|serverRequest|mcpServer)(?:/[a-z][A-Za-z]+)+)(?:$|[^A-Za-z/])`)
}

// literals visits the string literals of a Go file, except its imports and field tags.
func literals(t *testing.T, path string, visit func(at token.Position, text string)) {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			node.Tag = nil
		case *ast.BasicLit:
			if node.Kind != token.STRING {
				return false
			}
			text, err := strconv.Unquote(node.Value)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			visit(set.Position(node.Pos()), text)
		}
		return true
	})
}
