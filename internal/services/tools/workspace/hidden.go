package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"harness/internal/services/tools"
)

// errHidden reveals only that an agent has no access here.
var errHidden = errors.New("this is the server's own, and no part of the workspace")

// visible refuses a file in a hidden path. It checks the path of the opened file, not its name in the request, so no
// link bypasses it.
func (l Limits) visible(file *os.File) error {
	if len(l.Hidden) == 0 {
		return nil
	}
	at, err := placeOf(file)
	if err != nil {
		return err
	}
	return refused(at, l.Hidden)
}

// placeOf returns the path of a folder, "" if nothing is hidden, so that the path does not matter.
func (l Limits) placeOf(folder *os.Root) (string, error) {
	if len(l.Hidden) == 0 {
		return "", nil
	}
	opened, err := folder.Open(".")
	if err != nil {
		return "", err
	}
	defer opened.Close()
	at, err := placeOf(opened)
	if err == nil {
		err = refused(at, l.Hidden)
	}
	return at, err
}

// changeable refuses to create a file of this name in a folder where changes are forbidden: one of the server's own, or
// of version control. It checks the folder's real path, not its name in the request. top is the workspace.
func (l Limits) changeable(top, root *os.Root, name string) error {
	dir, rest := filepath.Dir(name), filepath.Base(name)
	folder, err := root.Open(dir)
	for errors.Is(err, fs.ErrNotExist) && dir != "." { // missing folders will be created below an existing one
		dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest)
		folder, err = root.Open(dir)
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	workspace, err := top.Open(".")
	if err != nil {
		return err
	}
	defer workspace.Close()
	above, err := placeOf(workspace)
	if err != nil {
		return err
	}
	at, err := placeOf(folder)
	if err != nil {
		return err
	}
	at = filepath.Join(at, rest)
	if err := refused(at, append(slices.Clone(l.Hidden), l.Fixed...)); err != nil {
		return err
	}
	inside, err := filepath.Rel(above, at)
	if err != nil || !filepath.IsLocal(inside) {
		return errors.New("the path escapes the workspace")
	}
	return guarded(top, inside)
}

// errGuarded names the files that no tool changes.
var errGuarded = errors.New("the files of version control (.git, .hg, .svn and the like) and .envrc cannot be changed with this " +
	"tool: programs of people run what they say")

// guarded refuses a real path within the workspace that belongs to version control, or that would turn a folder into a
// git directory.
func guarded(top *os.Root, inside string) error {
	if tools.Guarded(inside) {
		return errGuarded
	}
	for dir, rest := filepath.Dir(inside), filepath.Base(inside); ; dir, rest = filepath.Dir(dir),
		filepath.Join(filepath.Base(dir), rest) {
		first, _, _ := strings.Cut(filepath.ToSlash(rest), "/")
		isGit := tools.IsGitDir(func(name string) bool {
			_, err := top.Lstat(filepath.Join(dir, name))
			return err == nil || strings.EqualFold(name, first)
		})
		if isGit {
			return errGuarded
		}
		if dir == "." {
			return nil
		}
	}
}

func refused(at string, places []string) error {
	for _, place := range places {
		if at == place || strings.HasPrefix(at,
			strings.TrimSuffix(place, string(filepath.Separator))+string(filepath.Separator)) {
			return errHidden
		}
	}
	return nil
}
