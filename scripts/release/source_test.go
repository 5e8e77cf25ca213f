package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sources creates the sources of a program in a new folder within parent, with the time of the first release.
func sources(t *testing.T, parent string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(parent)
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "sources")
	files := map[string]string{"go.mod": "module program\n\ngo 1.26\n",
		"cmd/harness/main.go":             "package main\n\nimport \"program/internal/lib/version\"\n\nfunc main() { println(version.Commit()) }\n",
		"internal/lib/version/version.go": "package version\n\nvar revision string\n\nfunc Commit() string { return revision }\n"}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(filepath.Join(dir, "go.mod"), at, at); err != nil {
		t.Fatal(err)
	}
	return dir
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	who := []string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}
	at := []string{"GIT_COMMITTER_DATE=1600000000 +0000", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}
	if err := command(t.Context(), dir, at, "git", append(who, args...)...); err != nil {
		t.Fatal(err)
	}
}

func repository(t *testing.T, dir string) {
	t.Helper()
	git(t, dir, "init", "-q")
	git(t, dir, "add", ".")
	git(t, dir, "commit", "-q", "-m", "all")
}

// A release can be made from a clone, from a worktree, and from sources without a repository.
func TestAReleaseIsMadeOfSourcesWithAndWithoutARepository(t *testing.T) {
	t.Parallel()
	const changed, committed = 1_700_000_000, 1_600_000_000
	for name, one := range map[string]struct {
		source  func(t *testing.T) string
		date    int64
		commits int
	}{
		"a clone": {func(t *testing.T) string {
			dir := sources(t, t.TempDir())
			repository(t, dir)
			return dir
		}, committed, 1},
		"a worktree": {func(t *testing.T) string {
			dir := sources(t, t.TempDir())
			repository(t, dir)
			git(t, dir, "worktree", "add", "-q", "../other")
			return filepath.Join(filepath.Dir(dir), "other")
		}, committed, 1},
		"out of an archive": {func(t *testing.T) string { return sources(t, t.TempDir()) }, changed, 0},
		"out of an archive, inside of another repository": {func(t *testing.T) string {
			around := t.TempDir()
			git(t, around, "init", "-q")
			return sources(t, around)
		}, changed, 0},
		"a copy of a worktree": {func(t *testing.T) string {
			dir := sources(t, t.TempDir())
			if err := os.WriteFile(filepath.Join(dir, ".git"), []byte("gitdir: /nowhere/worktrees/a\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			return dir
		}, changed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r release
			dir := one.source(t)
			if err := r.from(t.Context(), filepath.Join(dir, "cmd"), ""); err != nil {
				t.Fatal(err)
			}
			if r.Source != dir || r.Date.Unix() != one.date {
				t.Errorf("made of %s at %s", r.Source, r.Date)
			}
			program := filepath.Join(t.TempDir(), "program")
			if err := r.build(t.Context(), platform{runtime.GOOS, runtime.GOARCH}, program); err != nil {
				t.Fatal(err)
			}
			said, err := exec.CommandContext(t.Context(), program).CombinedOutput()
			if err != nil {
				t.Fatal(err)
			}
			if named := strings.TrimSpace(string(said)); len(named) != 40*one.commits || named != r.Commit {
				t.Errorf("the program names the commit %q, it is %q", named, r.Commit)
			}
		})
	}
}

func TestAReleaseIsOfACommit(t *testing.T) {
	t.Parallel()
	dir := sources(t, t.TempDir())
	repository(t, dir)
	if err := os.WriteFile(filepath.Join(dir, "more.go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := new(release).from(t.Context(), dir, ""); err == nil || !strings.Contains(err.Error(), "more.go") {
		t.Errorf("sources that are not as they were committed: %v", err)
	}
}

func TestTheDateOfAReleaseCanBeGiven(t *testing.T) {
	t.Parallel()
	var r release
	dir := sources(t, t.TempDir())
	if err := r.from(t.Context(), dir, "1500000000"); err != nil || r.Date.Unix() != 1_500_000_000 {
		t.Errorf("dated %s: %v", r.Date, err)
	}
	if err := r.from(t.Context(), dir, "today"); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH") {
		t.Errorf("a date that is none: %v", err)
	}
}

// A signed release tags its commit once. A version is never given to two commits.
func TestAReleaseTagsItsCommit(t *testing.T) {
	t.Parallel()
	dir := sources(t, t.TempDir())
	repository(t, dir)
	made := func() *release {
		r := &release{Version: "1.2.3", Key: testKey(t)}
		if err := r.from(t.Context(), dir, ""); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := made()
	for range 2 {
		if err := first.tag(t.Context(), true); err != nil {
			t.Fatal(err)
		}
	}
	tagged, err := output(t.Context(), dir, "git", "rev-parse", "v1.2.3")
	if err != nil || tagged != first.Commit {
		t.Errorf("v1.2.3 is %s, want %s: %v", tagged, first.Commit, err)
	}
	git(t, dir, "commit", "-q", "--allow-empty", "-m", "more")
	if err := made().tag(t.Context(), false); err == nil || !strings.Contains(err.Error(), "v1.2.3") {
		t.Errorf("a version of two commits: %v", err)
	}
	unsigned := made()
	unsigned.Version, unsigned.Key = "1.2.4", nil
	if err := unsigned.tag(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if tags, err := output(t.Context(), dir, "git", "tag"); err != nil || tags != "v1.2.3" {
		t.Errorf("tags are %q, %v", tags, err)
	}
}
