package workspace

import (
	"cmp"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"harness/internal/services/session"
)

const (
	// mostEntries limits how much of a folder is read, so that a huge one costs little.
	mostEntries = 10_000
	maxHead     = 1 << 10
)

// Describe returns a folder of this machine with its Git branch; false if no agent can work there.
func (c *Checker) Describe(folder string) (session.Folder, bool) {
	folder, reason := c.folderAt(folder)
	if reason != "" || c.Unusable(folder) != "" {
		return session.Folder{}, false
	}
	branch, git := branchOf(folder)
	return session.Folder{Path: filepath.Clean(folder), Git: git, Branch: branch}, true
}

// Complete returns the folders, by name, whose paths begin with a path, ignoring case in the last name; more reports
// that there are others. A name that begins with a dot has to be given. A path in one of the roots stays there, also
// through symbolic links; no roots mean no limit.
func (c *Checker) Complete(path string, roots []string, most int) (found []session.Folder, more bool) {
	path, reason := c.folderAt(path)
	if reason != "" {
		return nil, false
	}
	parent, prefix := filepath.Split(path)
	within := func(folder string) bool {
		real, err := filepath.EvalSymlinks(folder)
		return err == nil && (roots == nil || slices.ContainsFunc(roots, func(root string) bool { return below(real, root) }))
	}
	if !within(parent) {
		return nil, false
	}
	names, more := subfolders(parent, prefix)
	for _, name := range names {
		one := filepath.Join(parent, name)
		if roots != nil && !within(one) {
			continue
		}
		folder, usable := c.Describe(one)
		if !usable {
			continue
		}
		if len(found) == most {
			return found, true
		}
		found = append(found, folder)
	}
	return found, more
}

// below reports whether a path without symbolic links is a folder or below it.
func below(path, folder string) bool {
	real, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return false
	}
	inside, err := filepath.Rel(real, path)
	return err == nil && filepath.IsLocal(inside)
}

// subfolders returns the sorted names in a folder that may be folders and have a prefix.
func subfolders(parent, prefix string) (names []string, more bool) {
	dir, err := os.Open(parent)
	if err != nil {
		return nil, false
	}
	defer func() { _ = dir.Close() }() // it was only read
	entries, err := dir.ReadDir(mostEntries)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, false
	}
	for _, entry := range entries {
		name := entry.Name()
		hidden := strings.HasPrefix(name, ".") && !strings.HasPrefix(prefix, ".")
		folder := entry.IsDir() || entry.Type()&os.ModeSymlink != 0
		if folder && !hidden && len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.ToLower(a), strings.ToLower(b)), cmp.Compare(a, b))
	})
	return names, len(entries) == mostEntries
}

// Branch returns the Git branch of a folder, "" for none.
func Branch(folder string) string {
	branch, _ := branchOf(folder)
	return branch
}

// branchOf reports whether a folder is in a Git work tree, and its branch: "" without one. It reads files alone: git
// itself would run commands of the folder's configuration.
func branchOf(folder string) (branch string, git bool) {
	for at := filepath.Clean(folder); ; at = filepath.Dir(at) {
		dot := filepath.Join(at, ".git")
		if info, err := os.Lstat(dot); err == nil {
			if !info.IsDir() {
				target, found := strings.CutPrefix(firstLine(dot), "gitdir: ")
				if !found {
					return "", false
				}
				if dot = target; !filepath.IsAbs(target) {
					dot = filepath.Join(at, target)
				}
			}
			head := firstLine(filepath.Join(dot, "HEAD"))
			branch, _ = strings.CutPrefix(head, "ref: refs/heads/")
			if branch == head || !branchName().MatchString(branch) {
				branch = ""
			}
			return branch, head != ""
		}
		if at == filepath.Dir(at) {
			return "", false
		}
	}
}

// branchName matches the names that git allows, without the ones that are not plain text.
var branchName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\s\pC~^:?*\[\\]{1,255}$`) })

// firstLine returns the first line of a small regular file, "" for any other. An agent may have put a pipe there.
func firstLine(path string) string {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOFOLLOW, 0)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // it was only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(file, maxHead))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}
