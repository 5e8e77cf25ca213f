package operations

import (
	"context"

	"harness/internal/services/tools/workspace"
)

// FileStore reads the folders of sessions.
type FileStore interface {
	List(ctx context.Context, folder, name string, offset, limit int) (workspace.Listing, error)
	Read(folder, name string, from int64) (workspace.Content, error)
}

// Files shows the folders of sessions. Nothing changes them.
type Files struct {
	access *Access
	store  FileStore
}

// MaxFiles is the maximum of entries in a page of a folder, and the default.
const MaxFiles = 1000

// FilesPage is a page of a folder.
type FilesPage struct {
	workspace.Listing
	// Next is the offset of the next page, 0 if this is the last one.
	Next int
}

// Files returns a page of a folder of a session; name "" is the session's folder itself. limit 0 is MaxFiles.
// workspace.ErrNoFile, *workspace.RefusedError.
func (s *Files) Files(ctx context.Context, sessionID, name string, offset, limit int) (page FilesPage, err error) {
	folder, err := s.folder(ctx, sessionID)
	if err != nil {
		return page, err
	}
	if limit == 0 {
		limit = MaxFiles
	}
	page.Listing, err = s.store.List(ctx, folder, name, offset, limit)
	if offset+limit < page.Total {
		page.Next = offset + limit
	}
	return page, err
}

// File returns a range of a file of a session, which begins at a byte. workspace.ErrNoFile, *workspace.RefusedError.
func (s *Files) File(ctx context.Context, sessionID, name string, from int64) (workspace.Content, error) {
	folder, err := s.folder(ctx, sessionID)
	if err != nil {
		return workspace.Content{}, err
	}
	return s.store.Read(folder, name, from)
}

// folder returns the folder of a session that this node runs.
func (s *Files) folder(ctx context.Context, sessionID string) (string, error) {
	if s.store == nil {
		return "", &workspace.RefusedError{Reason: "this server does not show the files of sessions"}
	}
	found, _, err := s.access.find(ctx, ReadFiles, sessionID)
	return found.Cwd, err
}
