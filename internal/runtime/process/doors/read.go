package doors

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Read returns the ports of live servers in the folders that match a pattern (of filepath.Match). It skips unreadable
// and missing ones.
func Read(pattern string) ([]uint16, error) {
	entries, err := readAll([]string{pattern})
	if err != nil {
		return nil, err
	}
	ports := make([]uint16, len(entries))
	for i, entry := range entries {
		ports[i] = entry.Port
	}
	return ports, nil
}

// entry is one file of a live server.
type entry struct {
	Other
	path string
}

// Match returns the folders that match patterns, each once. The name of a folder matches that folder.
func Match(patterns []string) (folders []string, err error) {
	for _, pattern := range patterns {
		found := []string{pattern}
		if _, err := os.Lstat(pattern); err != nil {
			if found, err = filepath.Glob(pattern); err != nil {
				return nil, folderError(pattern, err)
			}
		}
		for _, folder := range found {
			if !slices.Contains(folders, folder) {
				folders = append(folders, folder)
			}
		}
	}
	return folders, nil
}

func readAll(patterns []string) (all []entry, err error) {
	folders, err := Match(patterns)
	if err != nil {
		return nil, err
	}
	for _, folder := range folders {
		found, err := readFolder(folder)
		if err != nil {
			return nil, folderError(folder, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func readFolder(folder string) (all []entry, err error) {
	files, err := os.ReadDir(folder)
	if passable(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		port, ok := portOf(file.Name())
		if !ok || !file.Type().IsRegular() {
			continue
		}
		path := filepath.Join(folder, file.Name())
		pid, live, err := readFile(path)
		if err != nil {
			return nil, err
		}
		if live {
			all = append(all, entry{Other{Port: port, PID: pid}, path})
		}
	}
	return all, nil
}

// readFile reads the process of an entry, and whether it is live.
func readFile(path string) (pid int, live bool, err error) {
	// In a folder of another user, something else may have replaced the file by now.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if passable(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	defer func() { _ = file.Close() }()
	if live, err := locked(file); err != nil || !live {
		return 0, false, err
	}
	content, err := io.ReadAll(io.LimitReader(file, 32))
	if err != nil {
		return 0, false, err
	}
	pid, err = strconv.Atoi(strings.TrimSpace(string(content)))
	if err != nil { // only the lock matters
		return 0, true, nil
	}
	return pid, true, nil
}

func passable(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ELOOP)
}

// portOf returns the port in a file's name, false for a file that is not an entry.
func portOf(name string) (uint16, bool) {
	number, unique, ok := strings.Cut(name, "-")
	port, err := strconv.ParseUint(number, 10, 16)
	return uint16(port), ok && unique != "" && err == nil
}

func folderError(path string, err error) error {
	return fmt.Errorf("%s, where servers register their ports: %w", path, err)
}
