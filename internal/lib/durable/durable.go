// Package durable writes small files so that they survive a power loss intact.
//
// It owns the order of write, sync, rename and sync of the folder. It must never know what is in a file.
package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Write replaces the content at path, readable by this user alone. After a power loss the file has its complete old or
// new content. Once Write has returned, it has the new one.
func Write(path string, content []byte) error { return put(path, content, os.Rename) }

// Create is Write for a new file: it returns fs.ErrExist and changes nothing when the file exists. On a file system
// without links, the last of several concurrent calls wins.
func Create(path string, content []byte) error { return put(path, content, link) }

// link gives a file a second name unless that name exists: fs.ErrExist.
func link(from, to string) error {
	err := os.Link(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, found := os.Lstat(to); found == nil {
		return &fs.PathError{Op: "create", Path: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

func put(path string, content []byte, name func(from, to string) error) (err error) {
	draft, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if gone := os.Remove(draft.Name()); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}()
	_, err = draft.Write(content)
	if err = errors.Join(err, draft.Sync(), draft.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := name(draft.Name(), path); err != nil {
		return err
	}
	return SyncFolder(filepath.Dir(path))
}

// SyncFolder writes the names in a folder to the disk, if its file system supports that.
func SyncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) { // not every file system syncs folders
		err = nil
	}
	return errors.Join(err, folder.Close())
}

// MkdirAll creates a folder and its missing parents, readable by this user alone; all survive a power loss.
func MkdirAll(path string) error {
	var fresh []string
	for above := filepath.Clean(path); ; above = filepath.Dir(above) {
		if _, err := os.Stat(above); !errors.Is(err, fs.ErrNotExist) || above == filepath.Dir(above) {
			break
		}
		fresh = append(fresh, above)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return err
	}
	for _, folder := range fresh {
		if err := SyncFolder(filepath.Dir(folder)); err != nil {
			return err
		}
	}
	return nil
}
