package session

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// markFolder is what a folder is marked with: two nodes that read the same id there have the same folder. git does not
// show it, because it has a .gitignore that names everything.
const (
	markFolder = ".harness-workspace"
	markID     = "id"
)

// readMark is the mark of a folder, "" when it has none, or is not there.
func readMark(folder string) (string, error) {
	raw, err := os.ReadFile(filepath.Join(folder, markFolder, markID))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the mark of %s: %w", folder, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// mark gives a folder a mark, unless it has one, and returns it.
func mark(folder string) (_ string, err error) {
	known, err := readMark(folder)
	if known != "" || err != nil {
		return known, err
	}
	dir := filepath.Join(folder, markFolder)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("mark %s: %w", folder, err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o644); err != nil {
		return "", fmt.Errorf("mark %s: %w", folder, err)
	}
	// Linked when it is written: who finds it reads all of it, and the first of two stays.
	made, err := os.CreateTemp(dir, markID)
	if err != nil {
		return "", fmt.Errorf("mark %s: %w", folder, err)
	}
	defer func() { err = errors.Join(err, os.Remove(made.Name())) }()
	_, err = made.WriteString(rand.Text() + "\n")
	if err = errors.Join(err, made.Chmod(0o644), made.Close()); err != nil {
		return "", fmt.Errorf("mark %s: %w", folder, err)
	}
	if err := os.Link(made.Name(), filepath.Join(dir, markID)); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("mark %s: %w", folder, err)
	}
	return readMark(folder)
}
