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

// spoken are the places that may write names of the vocabulary out: this package, the adapter of the runtime whose
// names they are, the routes that are about that runtime alone, what tests and measures, and the client, which imports
// nothing of the server.
var spoken = []string{"internal/runtime/wire/", "internal/runtime/codex/", "api/compat/", "tests/", "client/"}

// files are the subjects of requests, one of which is called as an item is.
var files = []string{"internal/runtime/asked.go"}

// The names of the vocabulary are in this package alone: any other copy would need a change for the next
// runtime.
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

// names finds the vocabulary in a text: its constants, but for those that are plain words, and whatever looks like
// another method of it.
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

// literals visits the texts a Go file writes out, but for its imports and the tags of its fields.
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
