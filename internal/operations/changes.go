package operations

import (
	"context"
	"errors"
	"slices"

	"harness/internal/services/session"
	"harness/internal/services/workingtree"
)

// ChangeStore compares folders of sessions with their earlier states.
type ChangeStore interface {
	Changes(ctx context.Context, sessionID, folder string, base workingtree.Base) (workingtree.Changes, error)
	Diff(ctx context.Context, sessionID, folder string, base workingtree.Base, file string, lines int) ([]byte, error)
	Blame(ctx context.Context, folder, file string) (workingtree.Blame, error)
}

// Changes reports what sessions changed in their folders.
type Changes struct {
	access  *Access
	store   ChangeStore
	origins OriginStore
	files   FileStore // nil: files are not shown
}

// MaxChanges is the maximum of files in a page of changes.
const MaxChanges = 1000

// defaultChanges is the default number of files in a page.
const defaultChanges = 200

// ChangesPage is a page of the changes of a session.
type ChangesPage struct {
	workingtree.Changes
	// Total, Added and Removed count all files and lines, not only those of the page.
	Total, Added, Removed int
	// Next is the offset of the next page, 0 if this is the last one.
	Next int
}

// Changes compares the folder of a session with its state before the session's first turn, or reports the changes of
// one turn. offset and limit select a page; limit 0 is 200. *workingtree.UnavailableError, workingtree.ErrUnknownTurn.
func (s *Changes) Changes(ctx context.Context, sessionID string, base workingtree.Base, offset, limit int) (page ChangesPage, err error) {
	folder, err := s.folder(ctx, sessionID)
	if err != nil {
		return page, err
	}
	if page.Changes, err = s.store.Changes(ctx, sessionID, folder, base); err != nil {
		return page, err
	}
	page.Total = len(page.Files)
	for _, file := range page.Files {
		page.Added += file.Added
		page.Removed += file.Removed
	}
	if limit == 0 {
		limit = defaultChanges
	}
	page.Files = page.Files[min(offset, page.Total):min(offset+limit, page.Total)]
	if offset+limit < page.Total {
		page.Next = offset + limit
	}
	return page, s.keepVisible(ctx, page.Files)
}

// keepVisible removes other sessions that the caller may not see, or that are archived.
func (s *Changes) keepVisible(ctx context.Context, files []workingtree.File) (err error) {
	shown := map[string]bool{}
	for i := range files {
		files[i].AlsoIn = slices.DeleteFunc(slices.Clone(files[i].AlsoIn), func(id string) bool {
			visible, known := shown[id]
			if !known && err == nil {
				var found session.Session
				found, visible, err = s.seen(ctx, id)
				visible = visible && !found.Archived
				shown[id] = visible
			}
			return !visible
		})
	}
	return err
}

// seen returns another session of a folder; false if it is deleted or the caller may not see it.
func (s *Changes) seen(ctx context.Context, sessionID string) (session.Session, bool, error) {
	found, _, err := s.access.find(ctx, Read, sessionID)
	var reserved *SystemSessionError
	if session.Absent(err) || errors.As(err, &reserved) {
		return session.Session{}, false, nil
	}
	return found, err == nil, err
}

// Diff returns the patch of one changed file, or of all for "". lines is the number of unchanged lines around a change.
func (s *Changes) Diff(ctx context.Context, sessionID string, base workingtree.Base, file string, lines int) ([]byte, error) {
	folder, err := s.folder(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	return s.store.Diff(ctx, sessionID, folder, base, file, lines)
}

// folder returns the folder of a session that this node runs.
func (s *Changes) folder(ctx context.Context, sessionID string) (string, error) {
	if s.store == nil {
		return "", &workingtree.UnavailableError{Reason: "changes of folders are not watched here (HARNESS_CHECKPOINTS=off)"}
	}
	found, _, err := s.access.find(ctx, ReadChanges, sessionID)
	return found.Cwd, err
}
