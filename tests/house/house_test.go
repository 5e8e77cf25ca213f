// Package house measures the source and fails if a package, a type or a function exceeds its limits.
package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// The limits. Generated files and tests do not count.
const (
	maxEntries    = 22 // of the top level
	maxFiles      = 40 // of a package
	maxMethods    = 60 // of a type, over all files of its package
	maxInterface  = 8  // methods of an interface, including embedded ones of the same package
	maxOptions    = 15 // fields of a struct named Options
	maxLines      = 60 // of a function
	maxParameters = 6  // of a function
)

// beyond lists everything still over a limit, with its size. Sizes may only shrink. When a size shrinks, correct it
// here, and remove the line when the subject is within the limit.
var beyond = map[string]int{}

// larger replaces the limit of a subject that is agreed to be larger than others of its kind.
var larger = map[string]int{
	"methods of internal/services/session/manager Service": 90,
}

// TestTheHouseKeepsItsBounds measures every product package.
func TestTheHouseKeepsItsBounds(t *testing.T) {
	t.Parallel()
	sizes := measure(t)
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		size, known := sizes[name], beyond[name]
		switch {
		case known == 0:
			t.Errorf("%s: %d, more than its bound", name, size)
		case size > known:
			t.Errorf("%s grew from %d to %d; its bound is below both", name, known, size)
		case size < known:
			t.Errorf("%s shrank from %d to %d: correct the list", name, known, size)
		}
	}
	for name := range beyond {
		if sizes[name] == 0 {
			t.Errorf("%s is within its bound now: remove it from the list", name)
		}
	}
}

// TestTheTopLevelIsShort limits the entries at the top of the repository.
func TestTheTopLevelIsShort(t *testing.T) {
	t.Parallel()
	made := []string{"bin", "dist", "data"} // git ignores them
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), ".") && !slices.Contains(made, entry.Name()) {
			seen = append(seen, entry.Name())
		}
	}
	if len(seen) > maxEntries {
		t.Errorf("the top level has %d entries, more than %d: %s", len(seen), maxEntries, strings.Join(seen, " "))
	}
}

// measure returns the sizes over a limit, by name.
func measure(t *testing.T) map[string]int {
	t.Helper()
	packages := map[string][]*ast.File{}
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && path != root
			made := slices.Contains([]string{"node_modules", "testdata", "bin", "dist"}, entry.Name())
			if hidden || made || name == "tests" || name == "scripts" || name == "docs" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err == nil && !ast.IsGenerated(file) {
			folder := filepath.ToSlash(filepath.Dir(name))
			packages[folder] = append(packages[folder], file)
		}
		return err
	})
	if err != nil || len(packages) < 50 {
		t.Fatalf("found %d packages: %v", len(packages), err)
	}
	sizes := map[string]int{}
	over := func(bound, size int, format string, args ...any) {
		name := fmt.Sprintf(format, args...)
		if size > max(bound, larger[name]) {
			sizes[name] = size
		}
	}
	for folder, all := range packages {
		over(maxFiles, len(all), "files of %s", folder)
		methods, interfaces := map[string]int{}, map[string]*ast.InterfaceType{}
		for _, file := range all {
			for _, decl := range file.Decls {
				function, is := decl.(*ast.FuncDecl)
				if !is {
					continue
				}
				name := function.Name.Name
				if function.Recv != nil {
					receiver := typeName(function.Recv.List[0].Type)
					methods[receiver]++
					name = receiver + "." + name
				}
				lines := files.Position(function.End()).Line - files.Position(function.Pos()).Line + 1
				over(maxLines, lines, "lines of %s %s", folder, name)
				over(maxParameters, function.Type.Params.NumFields(), "parameters of %s %s", folder, name)
			}
			ast.Inspect(file, func(node ast.Node) bool {
				spec, is := node.(*ast.TypeSpec)
				if !is {
					return true
				}
				switch kind := spec.Type.(type) {
				case *ast.InterfaceType:
					interfaces[spec.Name.Name] = kind
				case *ast.StructType:
					if strings.HasSuffix(spec.Name.Name, "Options") {
						over(maxOptions, kind.Fields.NumFields(), "fields of %s %s", folder, spec.Name.Name)
					}
				}
				return true
			})
		}
		for name, size := range methods {
			over(maxMethods, size, "methods of %s %s", folder, name)
		}
		for name, one := range interfaces {
			over(maxInterface, methodsOf(one, interfaces), "methods of interface %s %s", folder, name)
		}
	}
	return sizes
}

// typeName returns the name of a receiver's type.
func typeName(of ast.Expr) string {
	switch kind := of.(type) {
	case *ast.StarExpr:
		return typeName(kind.X)
	case *ast.IndexExpr:
		return typeName(kind.X)
	case *ast.IndexListExpr:
		return typeName(kind.X)
	case *ast.Ident:
		return kind.Name
	}
	return ""
}

// methodsOf counts the methods of an interface, including those of embedded interfaces of the same package.
func methodsOf(one *ast.InterfaceType, all map[string]*ast.InterfaceType) (count int) {
	for _, field := range one.Methods.List {
		if len(field.Names) > 0 {
			count += len(field.Names)
		} else if name, is := field.Type.(*ast.Ident); is && all[name.Name] != nil {
			count += methodsOf(all[name.Name], all)
		}
	}
	return count
}
