package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"harness/internal/lib/durable"
)

// Folder keeps objects as files in a folder, which several servers may share.
type Folder struct{ Dir string }

func (f Folder) path(name string) string { return filepath.Join(f.Dir, filepath.FromSlash(name)) }

// Put stores a new file. If the file exists, Put leaves it unchanged and returns no error. The file is complete on disk
// when Put returns.
func (f Folder) Put(_ context.Context, name string, content []byte) (err error) {
	path := f.path(name)
	dir := filepath.Dir(path)
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("make the folder of the archive: %w", err)
	}
	file, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return fmt.Errorf("store %s in the archive: %w", name, err)
	}
	defer func() {
		if removed := os.Remove(file.Name()); err == nil {
			err = removed
		}
	}()
	_, err = file.Write(content)
	if err = errors.Join(err, file.Sync(), file.Close()); err == nil {
		err = os.Link(file.Name(), path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("store %s in the archive: %w", name, err)
	}
	return durable.SyncFolder(dir)
}

// Open opens a file for reading.
func (f Folder) Open(_ context.Context, name string) (io.ReadSeekCloser, error) {
	return os.Open(f.path(name))
}

// Remove deletes a file; a missing one is no error.
func (f Folder) Remove(_ context.Context, name string) error {
	if err := os.Remove(f.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Each visits the files whose names start with a folder's name, in order.
func (f Folder) Each(_ context.Context, begins string, visit func(name string, changed time.Time) error) error {
	entries, err := os.ReadDir(f.path(begins))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the archive: %w", err)
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	for _, entry := range entries {
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since the folder was listed
		}
		if err != nil {
			return err
		}
		if err := visit(begins+entry.Name(), info.ModTime()); err != nil {
			return err
		}
	}
	return nil
}
