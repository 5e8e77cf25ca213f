package tools

import (
	"path/filepath"
	"slices"
	"strings"
)

// RunsPrograms reports whether people's programs execute or interpret files below this name: the metadata of version
// control, with commands in its configuration and hooks, and files of direnv. A write there runs programs as the person
// who enters the folder.
func RunsPrograms(name string) bool {
	return slices.Contains([]string{".git", ".hg", ".svn", ".jj", ".sl", ".bzr", ".envrc"}, strings.ToLower(name))
}

// IsGitDir reports whether git would use a folder as a git directory, whatever its name: a bare repository, the git
// directory of a submodule, or a separate one. has reports whether the folder has an entry with a name.
func IsGitDir(has func(name string) bool) bool { return has("HEAD") && has("objects") && has("refs") }

// Guarded reports whether a path, relative to a workspace, contains a name of RunsPrograms.
func Guarded(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), RunsPrograms)
}
