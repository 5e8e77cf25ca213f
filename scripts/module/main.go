// Command module renames the modules of this repository, so that others can import them from their published path.
//
// It owns which files contain a module path. It must never change a text that only looks like one, such as
// "harness/probe".
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: make module PATH=github.com/you/harness")
		os.Exit(2)
	}
	changed, err := rename(".", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "module:", err)
		os.Exit(1)
	}
	fmt.Fprintf(os.Stderr, "module: %s, in %d files\n", os.Args[1], changed)
}

// modulePath matches valid paths: elements of lower-case letters, digits and a few signs.
var modulePath = regexp.MustCompile(`^[a-z0-9][a-z0-9._~-]*(/[A-Za-z0-9][A-Za-z0-9._~-]*)*$`)

// rename renames the modules of the repository at root and returns the number of changed files.
func rename(root, path string) (changed int, err error) {
	if !modulePath.MatchString(path) {
		return 0, fmt.Errorf("%q is no module path: it is like github.com/you/harness", path)
	}
	r, err := newRenamer(root, path)
	if err != nil {
		return 0, err
	}
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != root && skipped(entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		done, err := r.file(name)
		if done {
			changed++
		}
		return err
	})
	return changed, err
}

// skipped reports folders with built, downloaded or private content.
func skipped(folder string) bool {
	return strings.HasPrefix(folder, ".") && folder != ".ci" || slices.Contains([]string{"bin", "dist", "node_modules"}, folder)
}

// renamer changes paths that begin with the old module path.
type renamer struct {
	path string
	// folder matches a path below the module, in any text. The character before it is kept.
	folder *regexp.Regexp
	// whole matches a path or the module itself in go.mod, quoted matches it in the lint rules.
	whole, quoted *regexp.Regexp
}

func newRenamer(root, path string) (*renamer, error) {
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(text)
	if found == nil {
		return nil, errors.New("go.mod names no module")
	}
	old := regexp.QuoteMeta(string(found[1]))
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() && !skipped(entry.Name()) {
			folders = append(folders, regexp.QuoteMeta(entry.Name()))
		}
	}
	return &renamer{path: path,
		folder: regexp.MustCompile(`(^|[^A-Za-z0-9_./-])` + old + `(/(?:` + strings.Join(folders, "|") + `)(?:[^A-Za-z0-9_-]|$))`),
		whole:  regexp.MustCompile(`(?m)(^|[\t ])` + old + `([/\t ]|$)`),
		quoted: regexp.MustCompile(`(")` + old + `(/)`)}, nil
}

// texts are the name endings of files that may contain module paths.
var texts = []string{".go", ".md", ".sh", ".yml", ".yaml", ".txt", "Makefile", "Dockerfile", ".ci/run"}

// file renames in one file and reports whether it changed.
func (r *renamer) file(name string) (changed bool, err error) {
	pattern := r.folder
	switch base := filepath.Base(name); {
	case base == "go.mod":
		pattern = r.whole
	case base == ".golangci.yml":
		pattern = r.quoted
	case !slices.ContainsFunc(texts, func(end string) bool { return strings.HasSuffix(filepath.ToSlash(name), end) }):
		return false, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false, err
	}
	renamed := pattern.ReplaceAll(text, []byte("${1}"+r.path+"${2}"))
	if bytes.Equal(renamed, text) {
		return false, nil
	}
	if strings.HasSuffix(name, ".go") {
		if sorted, err := format.Source(renamed); err == nil { // a template may not be valid Go
			renamed = sorted
		}
	}
	info, err := os.Stat(name)
	if err != nil {
		return false, err
	}
	return true, os.WriteFile(name, renamed, info.Mode().Perm())
}
