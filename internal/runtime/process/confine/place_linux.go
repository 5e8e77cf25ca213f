package confine

import (
	"errors"
	"os"
	"path/filepath"
)

// placeholder makes the mount point of a kept path, inside the empty folder that hides it.
func placeholder(h handle) error {
	if _, err := os.Stat(h.path); err == nil {
		return nil
	}
	if h.folder {
		return os.MkdirAll(h.path, 0o755) //nolint:gosec // in a folder of its own that is about to be closed
	}
	if err := os.MkdirAll(filepath.Dir(h.path), 0o755); err != nil { //nolint:gosec // as above
		return err
	}
	file, err := os.OpenFile(h.path, os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}
