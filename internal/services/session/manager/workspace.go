package manager

import (
	"cmp"
	"context"
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

// CheckFolder returns the absolute path of the folder a new session is to work in, the server's workspace for "".
// *FolderError.
func (s *Service) CheckFolder(cwd string) (string, error) {
	folder, reason := s.folderAt(cwd)
	if reason == "" {
		reason = s.unusable(folder)
	}
	if reason != "" {
		return "", &session.FolderError{Folder: cmp.Or(cwd, folder), Reason: reason}
	}
	return folder, nil
}

// CheckWorkspace refuses what needs the folder of a session while an agent cannot work there: *FolderError. Other errors are
// those of Lookup.
func (s *Service) CheckWorkspace(ctx context.Context, sessionID string) error {
	session, err := s.Lookup(ctx, sessionID)
	if err == nil {
		_, err = s.workspace(session)
	}
	return err
}

// workspace is the folder of a session, "" where only its runtime knows it. *FolderError when an agent cannot work there.
func (s *Service) workspace(sess session.Session) (string, error) {
	if sess.Cwd == "" {
		return "", nil
	}
	folder, reason := s.folderAt(sess.Cwd)
	if reason == "" {
		reason = s.unusable(folder)
	}
	if reason != "" {
		return "", &session.FolderError{SessionID: sess.ID, Folder: sess.Cwd, Reason: reason}
	}
	return folder, nil
}

// folderAt is the absolute path of a folder, or why there is none: relative ones are below the server's workspace.
func (s *Service) folderAt(cwd string) (folder, reason string) {
	switch {
	case cwd == "":
		return s.opts.WorkspaceRoot, ""
	case strings.ContainsRune(cwd, 0):
		return "", "no path contains a NUL character"
	case filepath.IsAbs(cwd):
		return cwd, ""
	case filepath.IsLocal(cwd):
		return filepath.Join(s.opts.WorkspaceRoot, cwd), ""
	}
	return "", "a relative path is below the server's workspace " + s.opts.WorkspaceRoot + ", and this one leaves it"
}

// unusableFolder is why an agent cannot work in a folder, "" when it can. enter is Options.EnterFolder.
func unusableFolder(folder string, enter func(string) error) string {
	info, err := os.Stat(folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "it does not exist"
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

// markerFolder is what a folder is marked with: two nodes that read the same id there have the same folder. git does not
// show it, because it has a .gitignore that names everything.
const (
	markerFolder = ".harness-workspace"
	markerFile   = "id"
	maxMarker    = 1 << 10
)

// readMarker is the mark of a folder, "" when it has none, or is not there.
func readMarker(folder string) (string, error) {
	file, err := os.OpenInRoot(folder, markerFolder+"/"+markerFile) // an agent may have put a link there
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

// ensureMarker gives a folder a mark, unless it has one, and returns it.
func ensureMarker(folder string) (string, error) {
	known, err := readMarker(folder)
	if known != "" || err != nil {
		return known, err
	}
	if err := replaceMarker(folder, rand.Text()); err != nil {
		return "", err
	}
	return readMarker(folder)
}

// replaceMarker gives a folder a mark, unless it has one.
func replaceMarker(folder, id string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mark %s: %w", folder, err)
		}
	}()
	root, err := os.OpenRoot(folder) // whatever link an agent puts there leads nowhere else
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	if err := root.Mkdir(markerFolder, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := root.WriteFile(markerFolder+"/.gitignore", []byte("*\n"), 0o644); err != nil {
		return err
	}
	// Linked when it is written: who finds it reads all of it, and the first of two stays.
	made := markerFolder + "/" + rand.Text()
	if err := root.WriteFile(made, []byte(id+"\n"), 0o644); err != nil {
		return err
	}
	err = root.Link(made, markerFolder+"/"+markerFile)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, root.Remove(made))
}
