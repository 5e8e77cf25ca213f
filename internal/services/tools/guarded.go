package tools

import (
	"path/filepath"
	"slices"
	"strings"
)

// RunsPrograms reports whether people's programs run what stands below this name in a folder, or read from it
// what to run: the metadata of version control, whose configuration and hooks are commands, and what direnv
// reads. A write there runs programs as the person who enters the folder.
func RunsPrograms(name string) bool {
	return slices.Contains([]string{".git", ".hg", ".svn", ".jj", ".sl", ".bzr", ".envrc"}, strings.ToLower(name))
}

// IsGitDir reports whether git would read a folder as one of its own, whatever its name: a bare repository,
// the git directory of a submodule, or one that stands elsewhere than its files. has reports whether a name
// is in it.
func IsGitDir(has func(name string) bool) bool { return has("HEAD") && has("objects") && has("refs") }

// Guarded reports whether a path, relative to a workspace, has a name of RunsPrograms in it.
func Guarded(path string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(path), "/"), RunsPrograms)
}
