package datadir

import (
	"path/filepath"
)

// RealPath returns the absolute path with every symbolic link resolved.
func RealPath(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(absolute)
}

// Within reports whether a path is a folder or inside it.
func Within(folder, path string) bool {
	relative, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(relative)
}

// EntryPlace returns the path of a folder's entry itself, even if the entry is a link or missing. It resolves the links
// of the parent folders.
func EntryPlace(path string) (string, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(absolute))
	return filepath.Join(folder, filepath.Base(absolute)), err
}
