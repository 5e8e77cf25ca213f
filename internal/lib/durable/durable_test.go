package durable_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/lib/durable"
)

// A file is replaced or created atomically, readable by its user alone. Create keeps an existing file. No other file
// remains.
func TestFilesAreWrittenAtomically(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "made", "on the way")
	if err := durable.MkdirAll(folder); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "kept")
	requireContent := func(want string) {
		t.Helper()
		content, err := os.ReadFile(path)
		info, statErr := os.Stat(path)
		if err != nil || statErr != nil || string(content) != want || info.Mode() != 0o600 {
			t.Errorf("it has %q with %v, %v", content, info, errors.Join(err, statErr))
		}
		if entries, err := os.ReadDir(folder); err != nil || len(entries) != 1 {
			t.Errorf("the folder has %v, %v", entries, err)
		}
	}
	if err := durable.Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	requireContent("first")
	if err := durable.Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second one is answered %v", err)
	}
	requireContent("first")
	if err := durable.Write(path, []byte("another")); err != nil {
		t.Fatal(err)
	}
	requireContent("another")
	if err := durable.Write(filepath.Join(folder, "missing", "kept"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing folder is answered %v", err)
	}
}
