// Package workspace checks and marks the folders that sessions work in.
//
// It owns how relative folders resolve and why an agent cannot work in a folder. It must never know what a session
// does there.
package workspace

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"harness/internal/services/session"
)

// Checker checks folders.
type Checker struct {
	// Root is the folder of sessions that name none, and the base of relative paths.
	Root string
	// Unusable returns why an agent cannot work in a folder, "" if it can.
	Unusable func(folder string) string
}

// CheckFolder returns the absolute path of a new session's folder, the server's workspace for "". Its error is
// *FolderError.
func (c *Checker) CheckFolder(cwd string) (string, error) {
	folder, reason := c.folderAt(cwd)
	if reason == "" {
		reason = c.Unusable(folder)
	}
	if reason != "" {
		return "", &session.FolderError{Folder: cmp.Or(cwd, folder), Reason: reason, Missing: reason == notThere}
	}
	return folder, nil
}

// Workspace returns the folder of a session, "" if only its runtime knows it. It returns *FolderError if an agent
// cannot work there.
func (c *Checker) Workspace(sess session.Session) (string, error) {
	if sess.Cwd == "" {
		return "", nil
	}
	folder, reason := c.folderAt(sess.Cwd)
	if reason == "" {
		reason = c.Unusable(folder)
	}
	if reason != "" {
		return "", &session.FolderError{SessionID: sess.ID, Folder: sess.Cwd, Reason: reason}
	}
	return folder, nil
}

// folderAt returns the absolute path of a folder, or why there is none. Relative folders are below the server's
// workspace.
func (c *Checker) folderAt(cwd string) (folder, reason string) {
	switch {
	case cwd == "":
		return c.Root, ""
	case strings.ContainsRune(cwd, 0):
		return "", "no path contains a NUL character"
	case filepath.IsAbs(cwd):
		return cwd, ""
	case filepath.IsLocal(cwd):
		return filepath.Join(c.Root, cwd), ""
	}
	return "", "a relative path is below the server's workspace " + c.Root + ", and this one leaves it"
}

const notThere = "it does not exist"

// Unusable returns why an agent cannot work in a folder, "" if it can. enter checks whether the agents' user may enter
// it; nil if the agents run as the server's user.
func Unusable(folder string, enter func(string) error) string {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return notThere
	case errors.Is(err, unix.ENOTDIR), err == nil && !info.IsDir():
		return "it is not a folder"
	case err != nil && !errors.Is(err, fs.ErrPermission):
		return errors.Unwrap(err).Error()
	}
	if enter == nil {
		enter = func(folder string) error { return unix.Access(folder, unix.X_OK) }
	}
	if err := enter(folder); err != nil {
		return "the agents' user may not enter it (" + err.Error() + ")"
	}
	return ""
}

// MarkerFolder contains the marker of a folder: two nodes that read the same id share the folder. Its .gitignore hides
// it from git.
const (
	MarkerFolder = ".harness-workspace"
	markerFile   = "id"
	maxMarker    = 1 << 10
)

// ReadMarker returns the marker of a folder, "" if the folder or the marker is missing.
func ReadMarker(folder string) (string, error) {
	file, err := os.OpenInRoot(folder, MarkerFolder+"/"+markerFile) // an agent may have put a symlink there
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the mark of %s: %w", folder, err)
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxMarker))
	if err = errors.Join(err, file.Close()); err != nil {
		return "", fmt.Errorf("read the mark of %s: %w", folder, err)
	}
	return strings.TrimSpace(string(raw)), nil
}

// EnsureMarker creates the marker of a folder if it does not exist, and returns it.
func EnsureMarker(folder string) (string, error) {
	known, err := ReadMarker(folder)
	if known != "" || err != nil {
		return known, err
	}
	if err := ReplaceMarker(folder, rand.Text()); err != nil {
		return "", err
	}
	return ReadMarker(folder)
}

// ReplaceMarker sets the marker of a folder if it has none.
func ReplaceMarker(folder, id string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mark %s: %w", folder, err)
		}
	}()
	root, err := os.OpenRoot(folder) // an agent's symlink must not lead elsewhere
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.Mkdir(MarkerFolder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := root.WriteFile(MarkerFolder+"/.gitignore", []byte("*\n"), 0o644); err != nil {
		return err
	}
	// Link the file after writing it: a reader then sees all of it, and the first of two writers wins.
	made := MarkerFolder + "/" + rand.Text()
	if err := root.WriteFile(made, []byte(id+"\n"), 0o644); err != nil {
		return err
	}
	err = root.Link(made, MarkerFolder+"/"+markerFile)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, root.Remove(made))
}
