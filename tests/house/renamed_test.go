package house

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz|Example)\w*)\(`)

// TestRenamedTests checks the table of renamed tests. It has an old and a new name on each line, sorted. Every new
// name exists and no old one does. After another rename, correct the new name in the table.
func TestRenamedTests(t *testing.T) {
	t.Parallel()
	table, err := os.ReadFile("renamed-tests.txt")
	if err != nil {
		t.Fatal(err)
	}
	declared := testFunctions(t)
	lines := strings.Split(strings.TrimSpace(string(table)), "\n")
	if !slices.IsSorted(lines) {
		t.Error("the table is not sorted")
	}
	for _, line := range lines {
		names := strings.Fields(line)
		if len(names) != 2 {
			t.Errorf("%q is not an old and a new name", line)
			continue
		}
		if declared[names[0]] {
			t.Errorf("%s exists: remove its line", names[0])
		}
		if !declared[names[1]] {
			t.Errorf("%s does not exist: correct the new name of %s", names[1], names[0])
		}
	}
}

// testFunctions returns the names of all test functions of the repository.
func testFunctions(t *testing.T) map[string]bool {
	t.Helper()
	declared := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && path != root
			if hidden || slices.Contains([]string{"node_modules", "testdata", "bin", "dist"}, entry.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range testFunction.FindAllSubmatch(text, -1) {
			declared[string(found[1])] = true
		}
		return err
	})
	if err != nil || len(declared) < 1000 {
		t.Fatalf("found %d test functions: %v", len(declared), err)
	}
	return declared
}
