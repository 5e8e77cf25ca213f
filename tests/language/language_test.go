// Package language checks the words of Go sources, documents, scripts and the web console. Names and texts use the field's
// terms, not a private language.
//
// It owns the lists of words. It must never know what the code does.
package language

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// lists are the files that contain the listed words.
var lists = []string{"tests/language/language_test.go", "tests/promises/documents_test.go"}

// nameParts are the words that no declared name may contain as a part.
var nameParts = []string{"told", "untold", "tell", "tells", "telling", "hear", "hears", "heard", "hearing", "overhear",
	"nobody", "whoever", "bury", "buried", "crowd", "crowded", "lookout", "farewell", "goodbye", "speech", "talk", "stretch", "piece"}

// finished are the folders with names that have none of otherParts. Other folders still have some.
var finished = []string{"client", "console", "docs/examples", "extensions", "internal/content", "internal/lib",
	"internal/platform/auth", "internal/platform/database", "internal/platform/telemetry", "migrations", "queue", "scripts", "stream"}

// otherParts are words that no declared name of a finished folder may contain as a part.
var otherParts = []string{"look", "looked", "piece", "pieces", "stretch", "board", "custody", "silent", "talk"}

// words are the words that no comment and no text may contain.
var words = regexp.MustCompile(`(?i)\b(told|tells?|telling|hear|heard|hears|hearing|overhear|nobody|whoever|somebody|` +
	`everybody|bury|buried|crowd|judge[sd]?|taken in|takes in|goodbye)\b`)

// userNobody is the Unix user of that name, as a whole text, a value in an environment, or a code span of a page.
var userNobody = regexp.MustCompile("^\"nobody\"$|[A-Z_]+=nobody\\b|`nobody`")

// documents are the extensions of the other hand-written files: documents, API descriptions, scripts and the web
// console.
var documents = []string{".md", ".yaml", ".yml", ".sh", ".ts", ".tsx", ".mjs", ".js", ".html", ".css", "Makefile", "Dockerfile"}

// TestNames fails if a declared name contains a word of the list.
func TestNames(t *testing.T) {
	t.Parallel()
	check(t, func(folder string, file *ast.File, report func(token.Pos, string)) {
		parts := nameParts
		if slices.ContainsFunc(finished, func(one string) bool { return under(folder, one) }) {
			parts = slices.Concat(nameParts, otherParts)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			for _, name := range declared(node) {
				if part := listed(name.Name, parts); part != "" {
					report(name.Pos(), fmt.Sprintf("%s has the word %q", name.Name, part))
				}
			}
			return true
		})
	})
}

// TestTexts fails if a comment or a string literal contains a word of the list.
func TestTexts(t *testing.T) {
	t.Parallel()
	check(t, func(_ string, file *ast.File, report func(token.Pos, string)) {
		for _, group := range file.Comments {
			for _, one := range group.List {
				if found := words.FindString(one.Text); found != "" {
					report(one.Pos(), fmt.Sprintf("a comment has %q", found))
				}
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if field, is := node.(*ast.Field); is && field.Tag != nil {
				field.Tag = nil // a stored or public name
			}
			text, is := node.(*ast.BasicLit)
			if !is || text.Kind != token.STRING {
				return true
			}
			if found := words.FindString(userNobody.ReplaceAllString(text.Value, "")); found != "" {
				report(text.Pos(), fmt.Sprintf("a text has %q", found))
			}
			return true
		})
	})
}

// TestDocuments fails if a document, an API description, a script or a source of the web console contains a word of
// the list.
func TestDocuments(t *testing.T) {
	t.Parallel()
	checked := 0
	walk(t, func(path, from string) error {
		hasEnd := slices.ContainsFunc(documents, func(end string) bool { return strings.HasSuffix(from, end) })
		if !hasEnd || strings.HasSuffix(from, ".d.ts") { // the build writes the types of the API
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		checked++
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			if found := words.FindString(userNobody.ReplaceAllString(line, "")); found != "" {
				t.Errorf("%s:%d has %q", from, number, found)
			}
		}
		return nil
	})
	if checked < 100 {
		t.Errorf("only %d documents were checked", checked)
	}
}

// TestListed checks which names contain a word of the list.
func TestListed(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"tellAll": "tell", "Told": "told", "TestNobodyWaits": "nobody", "untold": "untold",
		"HTTPHeard": "heard", "teller": "", "shear": "", "Intelligence": "", "hearth": "", "crowd_of": "crowd"} {
		if got := listed(name, nameParts); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// check runs find on every hand-written Go file and reports each finding as a failure.
func check(t *testing.T, find func(folder string, file *ast.File, report func(token.Pos, string))) {
	t.Helper()
	walk(t, func(path, from string) error {
		if !strings.HasSuffix(from, ".go") || slices.Contains(lists, from) {
			return nil
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		folder := filepath.ToSlash(filepath.Dir(filepath.FromSlash(from)))
		find(folder, file, func(pos token.Pos, text string) {
			t.Errorf("%s: %s", strings.Replace(set.Position(pos).String(), path, from, 1), text)
		})
		return nil
	})
}

// walk visits each file outside of hidden folders, test data and built files. from is its path in the repository.
func walk(t *testing.T, visit func(path, from string) error) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || slices.Contains([]string{"testdata", "node_modules", "dist", "bin"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		from, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return visit(path, filepath.ToSlash(from))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func under(folder, one string) bool { return folder == one || strings.HasPrefix(folder, one+"/") }

// declared returns the names that a node declares.
func declared(node ast.Node) (names []*ast.Ident) {
	switch n := node.(type) {
	case *ast.FuncDecl:
		names = append(names, n.Name)
	case *ast.TypeSpec:
		names = append(names, n.Name)
	case *ast.ValueSpec:
		names = append(names, n.Names...)
	case *ast.Field:
		names = append(names, n.Names...)
	case *ast.LabeledStmt:
		names = append(names, n.Label)
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			names = append(names, identsOf(n.Lhs...)...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			names = append(names, identsOf(n.Key, n.Value)...)
		}
	}
	return names
}

func identsOf(all ...ast.Expr) (names []*ast.Ident) {
	for _, one := range all {
		if name, is := one.(*ast.Ident); is {
			names = append(names, name)
		}
	}
	return names
}

// listed returns the word of a list that a name contains as a camel-case part, "" for none.
func listed(name string, parts []string) string {
	letters := []rune(name)
	for begin := 0; begin < len(letters); {
		end := begin + 1
		for end < len(letters) && unicode.IsLetter(letters[end]) && !starts(letters, end) {
			end++
		}
		if part := strings.ToLower(string(letters[begin:end])); slices.Contains(parts, part) {
			return part
		}
		begin = end
	}
	return ""
}

// starts reports whether a camel-case part starts at a letter.
func starts(letters []rune, at int) bool {
	if !unicode.IsUpper(letters[at]) {
		return !unicode.IsLetter(letters[at-1])
	}
	return !unicode.IsUpper(letters[at-1]) || at+1 < len(letters) && unicode.IsLower(letters[at+1])
}
