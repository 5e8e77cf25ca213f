package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Listed tests run once, without the race detector; all others run once, with it.
func TestListedTestsRunWithoutTheRaceDetector(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one := "package p\n\nimport \"testing\"\n\nfunc TestA(*testing.T) {}\nfunc TestB(*testing.T) {}\n"
	write(t, filepath.Join(dir, "go.mod"), "module example\n\ngo 1.26\n")
	for _, folder := range []string{"a", "b/c", "d"} {
		write(t, filepath.Join(dir, folder, "p_test.go"), one)
	}
	write(t, filepath.Join(dir, "plain.txt"), "# a comment\nb/... # the end\nd TestB TestNone\n")
	list, err := readPlain(filepath.Join(dir, "plain.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, asked := range []struct{ args, want string }{
		{"-race -gcflags=x/...=-race=false -p 2 ./d ./...", "-skip ^(TestB|TestNone)$ -race -gcflags=x/...=-race=false -p 2 " +
			"example/d example/a\n-tags detect -p 2 example/b/c\n-run ^(TestB|TestNone)$ -p 2 example/d\n"},
		{"-race -run TestB ./a ./d", "-race -run TestB example/a example/d\n"}, // the caller has chosen
		{"-race -timeout 1m ./b/...", "-tags detect -timeout 1m example/b/c\n"},
		{"-race", "-race\n"},
	} {
		passes, err := split(dir, strings.Fields(asked.args), list)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, one := range passes {
			got += strings.TrimSpace(strings.Join(slices.Concat(one.flags, one.packages), " ")) + "\n"
			if raced := slices.Contains(one.flags, "-race"); raced == slices.Contains(one.env, "CGO_ENABLED=0") {
				t.Errorf("%s: the environment of %q is %q", asked.args, one.flags, one.env)
			}
		}
		if got != asked.want {
			t.Errorf("%s runs\n%swant\n%s", asked.args, got, asked.want)
		}
	}
}

// All passes are in one summary, and the first one's failure is not lost.
func TestPassesHaveOneSummary(t *testing.T) {
	t.Parallel()
	list := filepath.Join(t.TempDir(), "plain.txt")
	write(t, list, "a\n")
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example\n\ngo 1.26\n", "a/a_test.go": passing, "b/b_test.go": failing} {
		write(t, filepath.Join(dir, name), text)
	}
	var out bytes.Buffer
	code, err := run(dir, []string{"go", "test", "./..."}, list, 20, &out)
	if err != nil || code != 1 || strings.Count(out.String(), "== the slowest 5 of 5 tests") != 1 ||
		!strings.HasSuffix(out.String(), "== FAILED: 1\n  example/b.TestBad\n") {
		t.Errorf("%d, %v:\n%s", code, err, out.String())
	}
}

// The second pass begins while the last package of the first runs: that package waits for a file of the second.
func TestPassesOverlapAtTheLastPackage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	list := filepath.Join(dir, "plain.txt")
	write(t, list, "a\n")
	write(t, filepath.Join(dir, "go.mod"), "module example\n\ngo 1.26\n")
	write(t, filepath.Join(dir, "a", "a_test.go"), "package a\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\n"+
		"func TestA(t *testing.T) { _ = os.WriteFile(\"../made\", nil, 0o600) }\n")
	write(t, filepath.Join(dir, "b", "b_test.go"), "package b\n\nimport (\n\t\"os\"\n\t\"testing\"\n\t\"time\"\n)\n\n"+
		"func TestB(t *testing.T) {\n\tfor range 6000 {\n\t\tif _, err := os.Stat(\"../made\"); err == nil {\n\t\t\treturn\n\t\t}\n"+
		"\t\ttime.Sleep(10 * time.Millisecond)\n\t}\n\tt.Error(\"the other pass did not begin\")\n}\n")
	var out bytes.Buffer
	if code, err := run(dir, []string{"go", "test", "./..."}, list, 20, &out); err != nil || code != 0 {
		t.Errorf("%d, %v:\n%s", code, err, out.String())
	}
}

// The list of this repository names existing tests. A listed package is no part of the product. A listed test shares
// its name with no test that should run under the detector.
func TestTheListIsTrue(t *testing.T) {
	t.Parallel()
	list, err := readPlain("plain.txt")
	if err != nil {
		t.Fatal(err)
	}
	root := filepath.Join("..", "..")
	for _, folder := range list.packages {
		parent, _ := strings.CutSuffix(folder, "/...")
		_, err := os.Stat(filepath.Join(root, parent))
		if top, _, _ := strings.Cut(folder, "/"); err != nil || top != "tests" && top != "scripts" {
			t.Errorf("%s is listed; it is none of the tests or scripts (%v)", folder, err)
		}
	}
	named := map[string]bool{}
	for folder, names := range list.tests {
		for _, name := range names {
			named[name] = true
			if !slices.Contains(testsOf(t, filepath.Join(root, folder)), name) {
				t.Errorf("%s has no %s", folder, name)
			}
		}
	}
	if err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		if name := entry.Name(); name == "node_modules" || name == "testdata" || name == "bin" || name == ".cache" || name == ".git" {
			return fs.SkipDir
		}
		folder, err := filepath.Rel(root, path)
		for _, name := range testsOf(t, path) {
			if named[name] && !list.has(folder) && !slices.Contains(list.tests[folder], name) {
				t.Errorf("%s of %s would be left out by -skip; list it or rename it", name, folder)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// testsOf returns the names of the tests in a folder.
func testsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range declared.FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
	}
	return names
}

var declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
