package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/outside"
)

const root = "../.."

// copyTracked copies the committed and uncommitted files of the repository into a new folder.
func copyTracked(t *testing.T) string {
	t.Helper()
	listed, err := exec.CommandContext(t.Context(), "git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("list the files of the repository: %v", err)
	}
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		from, to := filepath.Join(root, name), filepath.Join(dir, name)
		info, err := os.Lstat(from)
		if err != nil || !info.Mode().IsRegular() {
			continue // deleted and not committed yet, or a link
		}
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, info.Mode().Perm()); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// runAt runs a command in a folder, with only the module cache.
func runAt(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	command.Dir = dir
	for _, set := range os.Environ() {
		if !strings.HasPrefix(set, "MAKE") && !strings.HasPrefix(set, "MFLAGS=") {
			command.Env = append(command.Env, set)
		}
	}
	command.Env = append(command.Env, "GOPROXY=off", "GOFLAGS=-buildvcs=false -trimpath", "CGO_ENABLED=0", "GOWORK=off")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// make module renames everything in one step: the program and the client build under the new path, and the old path is
// gone.
func TestMakeModuleRenamesEverything(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "the compilation of a renamed tree")
	dir := copyTracked(t)
	runAt(t, dir, "make", "module", "PATH=example.com/you/harness")
	// Not optimized: the test compiles all of it and does not run it.
	runAt(t, dir, "go", "build", "-gcflags=example.com/...=-N -l", "-o", filepath.Join(t.TempDir(), "harness"), "./cmd/harness")
	runAt(t, filepath.Join(dir, "client"), "go", "build", "./...")
	for _, pkg := range strings.Fields(runAt(t, dir, "go", "list", "./...")) {
		if !strings.HasPrefix(pkg, "example.com/you/harness/") {
			t.Errorf("package %s", pkg)
		}
	}
	for file, want := range map[string]string{
		"Makefile":              "-X example.com/you/harness/internal/lib/version.program=",
		"deploy/Dockerfile":     "-X example.com/you/harness/internal/lib/version.program=",
		".golangci.yml":         `"example.com/you/harness/`,
		"docs/cli.md":           "replace example.com/you/harness/client => ../harness/client",
		"go.mod":                "replace example.com/you/harness/client => ./client",
		"client/go.mod":         "module example.com/you/harness/client\n",
		"tests/bench/go.mod":    "replace example.com/you/harness => ../../\n",
		"scripts/site/go.mod":   "module example.com/you/harness/scripts/site\n",
		"client/client.go":      "require example.com/you/harness/client v0.0.0",
		"scripts/alerts/go.mod": "module example.com/you/harness/scripts/alerts\n",
	} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not have %q (%v)", file, want, err)
		}
	}
	if left := runAt(t, dir, "sh", "-c", `grep -rnE '"harness/(internal|client|server)' --include='*.go' --include=.golangci.yml . || :`); left != "" {
		t.Errorf("the old path is left:\n%s", left)
	}
}

// A second rename starts at the path of the first.
func TestRenameTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module harness\n\nrequire (\n\tharness/client v0.0.0\n)\n\nreplace harness/client => ./client\n",
		"client/a.go": "package client\n\nimport (\n\t_ \"harness/client/b\"\n)\n\n" +
			"const method, path = \"harness/probe\", \"/tools/harness/client\"\n",
		"README.md": "go doc harness/client; cd harness/x; ../harness/client",
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"example.com/one", "github.com/you/two"} {
		if changed, err := rename(dir, path); err != nil || changed != len(files) {
			t.Errorf("renamed %d files to %s: %v", changed, path, err)
		}
	}
	for name, want := range map[string]string{
		"go.mod": "module github.com/you/two\n\nrequire (\n\tgithub.com/you/two/client v0.0.0\n)\n\nreplace github.com/you/two/client => ./client\n",
		"client/a.go": "package client\n\nimport (\n\t_ \"github.com/you/two/client/b\"\n)\n\n" +
			"const method, path = \"harness/probe\", \"/tools/harness/client\"\n",
		"README.md": "go doc github.com/you/two/client; cd harness/x; ../harness/client",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
			t.Errorf("%s is %s (%v)", name, got, err)
		}
	}
}

func TestOtherPathsAreRefused(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/usr/bin:/bin", "github.com/you/", "a b"} {
		if _, err := rename(root, path); err == nil {
			t.Errorf("%q is taken as a path", path)
		}
	}
}
