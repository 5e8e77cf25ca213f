package confine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFolderAccess(t *testing.T) {
	t.Parallel()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	data, open := filepath.Join(real, "data"), filepath.Join(real, "open")
	for _, folder := range []string{filepath.Join(data, "kept"), filepath.Join(data, "secret"), open} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(real, "link")
	if err := os.Symlink(filepath.Join(data, "secret"), link); err != nil {
		t.Fatal(err)
	}
	plan := Plan{Hide: []string{data}, Keep: []string{filepath.Join(data, "kept")}}
	for folder, want := range map[string]error{
		open: nil, filepath.Join(data, "kept"): nil, data: errHidden, filepath.Join(data, "secret"): errHidden, link: errHidden,
		filepath.Join(real, "missing"): unix.ENOENT,
	} {
		if err := plan.Enter(folder); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", folder, err, want)
		}
	}
}

func TestAnotherUserEntersOnlyWhatItMay(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Log("the server's user cannot become another one: nothing to show")
		return
	}
	dir, err := os.MkdirTemp("", "harness-enter-") //nolint:usetesting // another user cannot enter t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	open, closed := filepath.Join(dir, "open"), filepath.Join(dir, "closed")
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(open, 0o755), os.Mkdir(closed, 0o700)); err != nil {
		t.Fatal(err)
	}
	plan := Plan{User: true, UID: 65534, GID: 65534}
	if err := plan.Enter(open); err != nil {
		t.Errorf("an open folder: %v", err)
	}
	if err := plan.Enter(closed); !errors.Is(err, unix.EACCES) {
		t.Errorf("a closed folder: %v", err)
	}
	if err := (Plan{}).Enter(closed); err != nil {
		t.Errorf("the server's own user: %v", err)
	}
}
