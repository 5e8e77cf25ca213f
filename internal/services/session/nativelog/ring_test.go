package nativelog_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/services/session/nativelog"
)

func here() bool { return false }

func put(t *testing.T, r *nativelog.Ring, session string, from, to int) {
	t.Helper()
	for n := from; n < to; n++ {
		if err := r.Append(session, fmt.Appendf(nil, `{"n":%d}`, n), here); err != nil {
			t.Fatal(err)
		}
	}
}

func tail(t *testing.T, r *nativelog.Ring, session string) []string {
	t.Helper()
	lines, err := r.Tail(session)
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func onDisk(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		bytes += info.Size()
	}
	return bytes
}

// The ring keeps the last 2,000 lines of each session, also after a restart, and its files do not grow beyond them.
func TestTheLastLinesAreKept(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "native")
	r := nativelog.New(dir)
	if lines := tail(t, r, "a"); len(lines) != 0 {
		t.Errorf("%d lines before any was written", len(lines))
	}
	put(t, r, "a", 0, 1500)
	put(t, r, "b", 0, 3)
	r = nativelog.New(dir)
	put(t, r, "a", 1500, 7001)
	lines := tail(t, r, "a")
	if len(lines) != nativelog.Lines || lines[0] != `{"n":5001}` || lines[len(lines)-1] != `{"n":7000}` {
		t.Errorf("%d lines from %s to %s", len(lines), lines[0], lines[len(lines)-1])
	}
	if lines := tail(t, r, "b"); len(lines) != 3 {
		t.Errorf("the other session has %d lines", len(lines))
	}
	if held := onDisk(t, dir); held > 2*nativelog.Lines*int64(len(lines[0])+1)+100 {
		t.Errorf("%d bytes are on disk", held)
	}
}

// Long lines are limited in bytes. For a single line over the limit, the ring keeps only the length. A newline within
// a line does not split it.
func TestNativeLinesAreBoundedInBytes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := nativelog.New(dir)
	long := []byte(`"` + strings.Repeat("x", nativelog.FileBytes/3) + `"`)
	for range 20 {
		if err := r.Append("a", long, here); err != nil {
			t.Fatal(err)
		}
	}
	if held := onDisk(t, dir); held > 2*nativelog.FileBytes || held < nativelog.FileBytes {
		t.Errorf("%d bytes are on disk", held)
	}
	if err := r.Append("a", []byte(strings.Repeat("y", nativelog.FileBytes)), here); err != nil {
		t.Fatal(err)
	}
	if err := r.Append("a", []byte("{\n\"a\":1}"), here); err != nil {
		t.Fatal(err)
	}
	lines := tail(t, r, "a")
	if got, want := lines[len(lines)-2:], []string{fmt.Sprintf(`{"omittedBytes":%d}`, nativelog.FileBytes),
		`{ "a":1}`}; !slices.Equal(got, want) {
		t.Errorf("last are %q", got)
	}
}

// Deleting a session deletes its lines, and a late line restores nothing. No id escapes the folder.
func TestNativeLinesGoWithTheirSession(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "native")
	r := nativelog.New(dir)
	put(t, r, "a", 0, 2001)
	put(t, r, "b", 0, 1)
	ids, err := r.Sessions()
	if slices.Sort(ids); err != nil || !slices.Equal(ids, []string{"a", "b"}) {
		t.Errorf("sessions %v, %v", ids, err)
	}
	if err := errors.Join(r.Remove("a"), r.Remove("a"),
		r.Append("a", []byte("late"), func() bool { return true })); err != nil {
		t.Error(err)
	}
	if ids, err := r.Sessions(); err != nil || !slices.Equal(ids, []string{"b"}) || len(tail(t, r, "a")) != 0 {
		t.Errorf("sessions %v, %v", ids, err)
	}
	put(t, r, "a", 0, 1)
	if lines := tail(t, r, "a"); len(lines) != 1 {
		t.Errorf("%d lines of a session that came again", len(lines))
	}
	for _, id := range []string{"", ".", "..", "../up", "a/b", ".hidden", strings.Repeat("i", 129)} {
		if err := r.Append(id, []byte("x"), here); err == nil {
			t.Errorf("kept lines of %q", id)
		}
	}
	// A folder that cannot be created is an error.
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := nativelog.New(filepath.Join(file, "native")).Append("a", []byte("x"), here); err == nil {
		t.Error("a line that could not be written was not missed")
	}
}
