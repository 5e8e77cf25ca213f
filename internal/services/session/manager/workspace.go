package manager

import (
	"cmp"
	"context"
	"errors"
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
		reason = s.unfit(folder)
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
		reason = s.unfit(folder)
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

// unfitFolder is why an agent cannot work in a folder, "" when it can. enter is Options.EnterFolder.
func unfitFolder(folder string, enter func(string) error) string {
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
