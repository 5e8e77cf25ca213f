package doors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// Register registers ports of this process in a folder. It makes a missing folder. release removes the ports; the end
// of the process does so too. others are the servers currently registered in the folders that match patterns. If two
// servers start at once, at least one of them sees the other.
//
// The folder must belong to this user, and others must not be able to write to it. All users can read root's folder.
func Register(folder string, patterns []string, ports ...uint16) (release func() error, others []Other, err error) {
	if err := makeFolder(folder); err != nil {
		return nil, nil, err
	}
	if err := removeStale(folder); err != nil {
		return nil, nil, folderError(folder, err)
	}
	var own held
	for _, port := range ports {
		file, err := own.hold(folder, port)
		if err != nil {
			return nil, nil, errors.Join(folderError(file, err), own.release())
		}
	}
	entries, err := readAll(patterns)
	if err != nil {
		return nil, nil, errors.Join(err, own.release())
	}
	for _, entry := range entries {
		if !own.has(entry.path) {
			others = append(others, entry.Other)
		}
	}
	return own.release, others, nil
}

// held are the files of this process, locked while they are open.
type held []*os.File

// hold makes the file of a port. The file gets its name after it is locked, so that no server takes it for a stale
// one.
func (h *held) hold(folder string, port uint16) (string, error) {
	draft, err := os.CreateTemp(folder, ".new-*")
	if err != nil {
		return folder, err
	}
	*h = append(*h, draft)
	if err := lock(draft); err != nil {
		return draft.Name(), err
	}
	if _, err := draft.WriteString(strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		return draft.Name(), err
	}
	if folder == rootFolder {
		if err := draft.Chmod(0o644); err != nil {
			return draft.Name(), err
		}
	}
	return draft.Name(), os.Rename(draft.Name(), fileName(draft.Name(), port))
}

// fileName returns the name of a port's file, from the name of its draft. The end of the draft's name makes it
// unique: several servers may have the same port, each at another address.
func fileName(draft string, port uint16) string {
	unique := filepath.Base(draft)[len(".new-"):]
	return filepath.Join(filepath.Dir(draft), strconv.Itoa(int(port))+"-"+unique)
}

func (h *held) has(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	for _, file := range *h {
		if own, err := file.Stat(); err == nil && os.SameFile(own, info) {
			return true
		}
	}
	return false
}

func (h *held) release() error {
	var errs []error
	for _, file := range *h {
		draft := file.Name()
		names, err := filepath.Glob(filepath.Join(filepath.Dir(draft), "*-"+filepath.Base(draft)[len(".new-"):]))
		errs = append(errs, err)
		for _, name := range names {
			errs = append(errs, os.Remove(name))
		}
		errs = append(errs, file.Close())
	}
	*h = nil
	return errors.Join(errs...)
}

// makeFolder makes the folder, or checks whether the existing one can be trusted.
func makeFolder(folder string) error {
	mode := fs.FileMode(0o700)
	if folder == rootFolder {
		mode = 0o755
	}
	const remedy = "set XDG_RUNTIME_DIR to a folder of this user's, or unset it"
	if err := os.Mkdir(folder, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return folderError(folder, fmt.Errorf("%w (%s)", err, remedy))
	}
	info, err := os.Lstat(folder)
	if err != nil {
		return folderError(folder, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(stat.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return folderError(folder, errors.New("it is not a folder of this user's that others cannot write to: remove it, or "+remedy))
	}
	return nil
}

// removeStale removes files of dead servers. No name is used twice, so it removes none of a live one.
func removeStale(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if _, ok := portOf(entry.Name()); !ok || !entry.Type().IsRegular() {
			continue
		}
		if err := removeUnlocked(filepath.Join(folder, entry.Name())); err != nil {
			return err
		}
	}
	return nil
}

func removeUnlocked(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if live, err := locked(file); err != nil || live {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the entry of a server that is gone: %w", err)
	}
	return nil
}
