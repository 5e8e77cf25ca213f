package trust_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"harness/internal/lib/trust"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The hash changes with everything that affects what runs, and with nothing else.
func TestFolderHash(t *testing.T) {
	t.Parallel()
	folder, outside := t.TempDir(), t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	shared, other := filepath.Join(outside, "shared"), filepath.Join(outside, "other")
	write(t, at("a"), "1")
	write(t, at("deep/b"), "2")
	write(t, shared, "3")
	write(t, other, "4")
	must(t, os.Symlink(shared, at("link")))
	must(t, os.Symlink(outside, at("folder-link")))
	must(t, os.Symlink(folder, at("deep/loop")))
	must(t, os.Symlink("nowhere", at("broken")))
	hash := func() string {
		t.Helper()
		sum, err := trust.HashFolder(folder, []string{at("a"), shared})
		must(t, err)
		return sum
	}
	before := hash()
	if before != hash() || !strings.HasPrefix(before, "sha256:") {
		t.Errorf("%s, then %s", before, hash())
	}
	for what, change := range map[string]struct{ do, undo func() error }{
		"content": {func() error { return os.WriteFile(at("a"), []byte("2"), 0o600) }, func() error {
			return os.WriteFile(at("a"), []byte("1"), 0o600)
		}},
		"name": {func() error { return os.Rename(at("a"), at("c")) }, func() error {
			return os.Rename(at("c"), at("a"))
		}},
		"new file": {func() error { return os.WriteFile(at(".hidden"), nil, 0o600) }, func() error {
			return os.Remove(at(".hidden"))
		}},
		"executable": {func() error { return os.Chmod(at("deep/b"), 0o700) }, func() error {
			return os.Chmod(at("deep/b"), 0o600)
		}}, //nolint:gosec // what is tested
		"what is linked to": {func() error { return os.WriteFile(shared, []byte("x"), 0o600) }, func() error {
			return os.WriteFile(shared, []byte("3"), 0o600)
		}},
		"a link elsewhere": {func() error { return errors.Join(os.Remove(at("link")), os.Symlink(other, at("link"))) },
			func() error { return errors.Join(os.Remove(at("link")), os.Symlink(shared, at("link"))) }},
		"below a linked folder": {func() error { return os.WriteFile(other, []byte("x"), 0o600) }, func() error {
			return os.WriteFile(other, []byte("4"), 0o600)
		}},
		"a broken link mended": {func() error { return os.WriteFile(at("nowhere"), nil, 0o600) }, func() error {
			return os.Remove(at("nowhere"))
		}},
	} {
		must(t, change.do())
		if hash() == before {
			t.Errorf("%s: the hash stays", what)
		}
		must(t, change.undo())
		if hash() != before {
			t.Errorf("%s undone: another hash", what)
		}
	}
}

// Content that cannot be hashed causes an error, instead of a hash without it.
func TestWhatCannotBeHashed(t *testing.T) {
	t.Parallel()
	pipe, large := t.TempDir(), t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(pipe, "p"), 0o600))
	write(t, filepath.Join(large, "l"), "")
	must(t, os.Truncate(filepath.Join(large, "l"), 256<<20+1))
	for folder, says := range map[string]string{pipe: "neither a file nor a folder", large: "larger than 256 MiB",
		filepath.Join(pipe, "none"): "no such file"} {
		if sum, err := trust.HashFolder(folder, nil); err == nil || sum != "" || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %q %v", folder, sum, err)
		}
	}
	if _, err := trust.HashFolder(large, nil); err == nil {
		t.Error("hashed")
	}
}

// Consents of concurrent commands are all stored, revoked one by one, and void if other users could have written them.
func TestConsentsAreKept(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	environment := func(name string) string { return map[string]string{"HOME": home, "XDG_STATE_HOME": "relative"}[name] }
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			if err := trust.Open(environment).Grant(map[string]string{fmt.Sprint("/", i): "sha256:1"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	store := trust.Open(environment)
	for i := range 20 {
		if ok, err := store.Trusted(fmt.Sprint("/", i), "sha256:1"); !ok || err != nil {
			t.Errorf("%d is lost: %v", i, err)
		}
	}
	for _, question := range [][2]string{{"/1", "sha256:2"}, {"/1", ""}, {"/none", ""}, {"/none", "sha256:1"}} {
		if ok, _ := store.Trusted(question[0], question[1]); ok {
			t.Errorf("%v is trusted", question)
		}
	}
	must(t, store.Revoke("/1"))
	if ok, _ := store.Trusted("/1", "sha256:1"); ok {
		t.Error("revoked, and trusted")
	}
	if err := store.Revoke("/1"); !errors.Is(err, trust.ErrNotTrusted) {
		t.Errorf("revoked twice: %v", err)
	}
	path := filepath.Join(home, ".local", "state", "harness", "trust.json")
	info, err := os.Stat(path)
	must(t, err)
	if left, _ := os.ReadDir(filepath.Dir(path)); info.Mode().Perm() != 0o600 || len(left) != 1 {
		t.Errorf("mode %v, files %v", info.Mode(), left)
	}
	must(t, os.Chmod(path, 0o666)) //nolint:gosec // what is tested
	if ok, err := store.Trusted("/2", "sha256:1"); ok || err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("writable for all: %v %v", ok, err)
	}
	must(t, os.Chmod(path, 0o600))
	must(t, os.WriteFile(path, []byte("{"), 0o600))
	if err := store.Grant(map[string]string{"/3": "x"}); err == nil {
		t.Error("a broken file was written over")
	}
	nowhere := trust.Open(func(string) string { return "" })
	if err := nowhere.Grant(map[string]string{"/3": "x"}); !errors.Is(err, trust.ErrNoHome) {
		t.Errorf("without a home: %v", err)
	}
	if ok, err := nowhere.Trusted("/3", "x"); ok || err != nil {
		t.Errorf("without a home: %v %v", ok, err)
	}
}

// The path of a file is its own, not its link's target; a command to copy is quoted for a shell.
func TestLocationsAndCommands(t *testing.T) {
	t.Parallel()
	folder, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	write(t, filepath.Join(folder, "real", "file"), "")
	must(t, os.Symlink("real", filepath.Join(folder, "way")))
	must(t, os.Symlink("file", filepath.Join(folder, "real", "link")))
	for path, want := range map[string]string{"way/file": "real/file", "way/link": "real/link", "way": "real"} {
		if got, err := trust.Place(filepath.Join(folder, path)); err != nil || got != filepath.Join(folder, want) {
			t.Errorf("%s: %s %v", path, got, err)
		}
	}
	if got := trust.Remedy("/a b/it's", "h"); !strings.HasSuffix(got, `harness trust '/a b/it'\''s'`) {
		t.Error(got)
	}
}
