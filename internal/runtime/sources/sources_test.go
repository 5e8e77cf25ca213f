package sources_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"harness/internal/runtime/sources"
)

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(in("there"), []byte("abc"), 0o600), os.Mkdir(in("folder"), 0o700),
		syscall.Mkfifo(in("fifo"), 0o600),
		os.Symlink(in("there"), in("link")), os.Symlink(in("loop"), in("loop")), os.WriteFile(in("long"), nil, 0o600),
		os.Truncate(in("long"), 17<<20)); err != nil {
		t.Fatal(err)
	}
	var candidates []sources.Candidate
	for _, name := range []string{"missing", "there", "there/below", "there", "link", "folder", "fifo", "long", "loop"} {
		candidates = append(candidates, sources.Candidate{Path: in(name), Kind: "settings", Scope: "home"})
	}
	var got []string
	for _, source := range sources.Files(candidates...) {
		if strings.Contains(source.Reason, dir) {
			t.Errorf("%s: the reason repeats the path: %s", source.Path, source.Reason)
		}
		got = append(got, strings.Join([]string{filepath.Base(source.Path), source.SHA256[:min(8, len(source.SHA256))],
			source.Reason}, " "))
	}
	want := []string{"there ba7816bf ", "link ba7816bf ", "folder  it is no file", "fifo  it is no file",
		"long  it is longer than 16777216 bytes", "loop  too many levels of symbolic links"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestUpwards(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, ".git"), 0o700); err != nil {
		t.Fatal(err)
	}
	if got := sources.Upwards(below); !slices.Equal(got, []string{dir, filepath.Join(dir, "a"), below}) {
		t.Errorf("in a project: %q", got)
	}
	if got := sources.Upwards("/"); !slices.Equal(got, []string{"/"}) {
		t.Errorf("at the root: %q", got)
	}
}
