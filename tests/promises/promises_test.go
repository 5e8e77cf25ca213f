package promises_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"harness/tests/promises"
)

const (
	root = "../.."
	page = "docs/promises.md"
)

func load(t *testing.T) []promises.Group {
	t.Helper()
	groups, err := promises.Load()
	if err != nil {
		t.Fatal(err)
	}
	return groups
}

// HARNESS_UPDATE=1 rewrites the page.
func TestThePageIsCurrent(t *testing.T) {
	t.Parallel()
	path, want := filepath.Join(root, page), promises.Page(load(t))
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v); write it anew with HARNESS_UPDATE=1", page, err)
	}
}

// source is a hand-written file of the repository.
type source struct{ path, text string }

// isTest reports whether the file may name rows.
func (s source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }

func sources(t *testing.T) []source {
	t.Helper()
	written := []string{".go", ".md", ".yml", ".yaml", ".sh", ".sql", ".js", ".mjs", ".ts", ".py", ".html", ".service",
		".conf", "Makefile", "Dockerfile", "run"}
	var found []source
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			hidden := strings.HasPrefix(name, ".") && path != root && name != ".ci"
			made := path == filepath.Join(root, "dist")
			if hidden || made || slices.Contains([]string{"bin", "node_modules", "testdata", "data"}, name) {
				return filepath.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() ||
			!slices.ContainsFunc(written, func(end string) bool { return strings.HasSuffix(name, end) }) {
			return nil
		}
		text, err := os.ReadFile(path)
		found = append(found, source{filepath.ToSlash(strings.TrimPrefix(path, root+"/")), string(text)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var (
	testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(\w+ \*testing\.[TF]\)`)
	namedID      = regexp.MustCompile(`\b(ST|TR|AS|SE|EX|LC|QU|RR|RA|TL|EV|AR|OB|TE)-?(\d\d)\b`)
	inName       = regexp.MustCompile(`(ST|TR|AS|SE|EX|LC|QU|RR|RA|TL|EV|AR|OB|TE)(\d\d)`)
)

// Every row is kept and lists its tests, or is open. The tests exist, and tests name only existing rows.
func TestRowsAndTestsKnowEachOther(t *testing.T) {
	t.Parallel()
	known, tests := map[string]bool{}, map[string]bool{}
	files := sources(t)
	for _, file := range files {
		if file.isTest() {
			for _, found := range testFunction.FindAllStringSubmatch(file.text, -1) {
				tests[filepath.ToSlash(filepath.Dir(file.path))+"."+found[1]] = true
			}
		}
	}
	if len(tests) < 500 {
		t.Fatalf("only %d tests were found", len(tests))
	}
	for _, group := range load(t) {
		for _, row := range group.Rows {
			if known[row.ID] {
				t.Errorf("%s is there twice", row.ID)
			}
			known[row.ID] = true
			if !row.Open && len(row.Tests) == 0 {
				t.Errorf("%s has no test and is not open", row.ID)
			}
			for _, test := range row.Tests {
				if !tests[test] {
					t.Errorf("%s names %s, which is not there", row.ID, test)
				}
			}
		}
	}
	for _, file := range files {
		if !file.isTest() {
			continue
		}
		named := namedID.FindAllStringSubmatch(file.text, -1)
		for _, function := range testFunction.FindAllStringSubmatch(file.text, -1) {
			named = append(named, inName.FindAllStringSubmatch(function[1], -1)...)
		}
		for _, id := range named {
			if id := id[1] + "-" + id[2]; !known[id] {
				t.Errorf("%s names %s, which is no row", file.path, id)
			}
		}
	}
}

var buildTag = regexp.MustCompile(`(?m)^//go:build (.*)$`)

// TE-05: the command on the page finds each test it names. It compiles tests with build tags.
func TestTheCommandFindsEveryTest(t *testing.T) {
	t.Parallel()
	named := map[string]bool{}
	for _, group := range load(t) {
		for _, row := range group.Rows {
			for _, test := range row.Tests {
				named[test] = true
			}
		}
	}
	tagged := 0
	for _, file := range sources(t) {
		tag := buildTag.FindStringSubmatch(file.text)
		if !file.isTest() || tag == nil {
			continue
		}
		for _, function := range testFunction.FindAllStringSubmatch(file.text, -1) {
			if !named[filepath.ToSlash(filepath.Dir(file.path))+"."+function[1]] || tag[1] == "linux" {
				continue
			}
			tagged++
			if !strings.Contains(promises.Command, " -tags "+tag[1]+" ") {
				t.Errorf("%q does not find %s, which is compiled with %q", promises.Command, function[1], tag[1])
			}
		}
	}
	if tagged == 0 {
		t.Error("no test that asks real models is named")
	}
}

// A mutant breaks a row by an applicable edit, and names only tests of that row.
func TestMutantsCanBeMade(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{}
	for _, group := range load(t) {
		for _, row := range group.Rows {
			tests[row.ID] = row.Tests
		}
	}
	mutants, err := promises.Mutants()
	if err != nil {
		t.Fatal(err)
	}
	for _, mutant := range mutants {
		text, err := os.ReadFile(filepath.Join(root, mutant.File))
		if err == nil {
			_, err = mutant.Apply(string(text))
		}
		if err != nil {
			t.Errorf("%s %s: %v", mutant.Row, mutant.What, err)
		}
		if len(mutant.Tests) == 0 {
			t.Errorf("%s %s: no test is to notice it", mutant.Row, mutant.What)
		}
		for _, test := range mutant.Tests {
			if !slices.Contains(tests[mutant.Row], test) {
				t.Errorf("%s %s: the row does not name %s", mutant.Row, mutant.What, test)
			}
		}
	}
}

var (
	rowID    = regexp.MustCompile(`\b(ST|TR|AS|SE|EX|LC|QU|RR|RA|TL|EV|AR|OB|TE)-\d\d\b`)
	comment  = regexp.MustCompile(`(?m)(?:^|\s)//.*$`)
	document = regexp.MustCompile(`[\w./-]*\w\.md\b`)
	paper    = regexp.MustCompile(`(?i)\bseeds? \d{3}\b|\bfault (row|test)s? \d|\bissue \d`)
)

// Comments state rules themselves. Only tests and their page contain row ids, and a cited document is in this
// repository.
func TestCommentsCiteWhatIsHere(t *testing.T) {
	t.Parallel()
	for _, file := range sources(t) {
		if id := rowID.FindString(file.text); id != "" && !file.isTest() && file.path != page {
			t.Errorf("%s names %s: say the rule instead", file.path, id)
		}
		text := file.text
		if strings.HasSuffix(file.path, ".go") {
			text = strings.Join(comment.FindAllString(text, -1), "\n")
		}
		if cited := paper.FindString(text); cited != "" && file.path != "tests/promises/promises_test.go" {
			t.Errorf("%s cites %q, which is not here: say the rule instead", file.path, cited)
		}
		if strings.HasSuffix(file.path, ".md") {
			continue // texts for readers also name files of their own
		}
		for _, cited := range document.FindAllString(text, -1) {
			if !filepath.IsAbs(cited) && !there(file.path, cited) {
				t.Errorf("%s cites %s, which is not here: say the rule instead", file.path, cited)
			}
		}
	}
}

// there reports whether a document is in the repository, relative to its root, its docs or the citing file.
func there(from, cited string) bool {
	for _, folder := range []string{"", "docs", filepath.Dir(from)} {
		if info, err := os.Stat(filepath.Join(root, folder, cited)); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}
