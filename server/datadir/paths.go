package datadir

import (
	"path/filepath"
)

// RealPath is the absolute path with every symbolic link resolved.
func RealPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// Within reports whether a path is a folder or inside of it.
func Within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}

// EntryPlace is the path of a folder's entry itself, also of a link or a missing entry: it follows the links on the
// way.
func EntryPlace(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	return filepath.Join(folder, filepath.Base(absolute)), err
}
