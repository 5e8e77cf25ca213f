package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"harness/internal/services/tools"
)

// The limits of fixed: searched folders of a workspace, the nearest first, and found paths. Each is a mount.
const (
	maxFolders = 10_000
	maxFixed   = 500
)

// fixed returns the paths of a workspace, relative to it, that no run may change even if it may change all others:
// version control, and files of direnv. git, started later by a person, runs commands from its configuration.
func fixed(workspace string) (found []string) {
	top, err := os.OpenRoot(workspace)
	if err != nil {
		return nil // a missing workspace cannot be mounted, either
	}
	defer top.Close()
	add := func(at string) {
		if len(found) < maxFixed && !slices.Contains(found, at) {
			found = append(found, at)
		}
	}
	folders := []string{"."}
	for listed := 0; listed < len(folders) && listed < maxFolders; listed++ {
		dir := folders[listed]
		entries, _ := fs.ReadDir(top.FS(), filepath.ToSlash(dir)) // an unreadable folder is not writable, either
		has := func(name string) bool {
			return slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == name })
		}
		if dir != "." && tools.IsGitDir(has) {
			add(dir)
			continue
		}
		for _, entry := range entries {
			at := filepath.Join(dir, entry.Name())
			switch {
			case tools.RunsPrograms(entry.Name()):
				if real, is := within(workspace, at); is {
					add(real)
				}
			case entry.IsDir():
				folders = append(folders, at)
			}
		}
	}
	return found
}

// within returns the real relative path of a path in a workspace, and whether it exists inside.
func within(workspace, at string) (string, bool) {
	above, err := filepath.EvalSymlinks(workspace)
	if err != nil {
		return "", false
	}
	real, err := filepath.EvalSymlinks(filepath.Join(workspace, at))
	if err != nil {
		return "", false
	}
	inside, err := filepath.Rel(above, real)
	return inside, err == nil && filepath.IsLocal(inside) && inside != "."
}
