package operations

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"harness/internal/platform/auth"
	"harness/internal/services/session"
	"harness/transcript"
)

// EditorStore has the methods of sessions that Editor needs.
type EditorStore interface {
	Rename(ctx context.Context, sessionID, title string) (session.Session, error)
	Archive(ctx context.Context, sessionID string) (session.Session, error)
	Unarchive(ctx context.Context, sessionID string) (session.Session, error)
	// Resume loads the session in its runtime with these client tools.
	Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error)
	Delete(ctx context.Context, sessionID string) (session.Deleted, error)
	AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error)
	// UpsertTranscripts stores the entries, all or none, and publishes each stored entry, which it also returns as
	// JSON. The session must exist (Lookup).
	UpsertTranscripts(ctx context.Context, sessionID string, entries []transcript.Entry) ([]json.RawMessage, error)
}

// Editor changes sessions and their transcripts.
type Editor struct {
	access *Access
	store  EditorStore
	family *Family
}

// lookupPatience is how long a deletion waits for a runtime to report whether it knows a session that is not stored
// here. Including the deletion's own wait, it stays below 10 s.
const lookupPatience = 3 * time.Second

// Rename sets the title of a session. *InvalidError.
func (s *Editor) Rename(ctx context.Context, sessionID, title string) (session.Session, error) {
	if err := s.access.Check(ctx, Rename, sessionID); err != nil {
		return session.Session{}, err
	}
	if err := checkText("title", title, MaxTitle); err != nil {
		return session.Session{}, err
	}
	return s.store.Rename(ctx, sessionID, title)
}

// Archive archives a session: session.ErrNotMaterialized if it already is, or has nothing to archive.
func (s *Editor) Archive(ctx context.Context, sessionID string) (session.Session, error) {
	found, _, err := s.access.find(ctx, Archive, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	if found.Archived {
		return session.Session{}, session.ErrNotMaterialized // codex-manager's name for this
	}
	return s.store.Archive(ctx, sessionID)
}

// Unarchive restores a session from the archive. session.ErrNotMaterialized.
func (s *Editor) Unarchive(ctx context.Context, sessionID string) (session.Session, error) {
	return after(s.access.Check(ctx, Unarchive, sessionID), func() (session.Session, error) {
		return s.store.Unarchive(ctx, sessionID)
	})
}

// Resume loads a session in its runtime, so that its events arrive. *session.ToolsError, session.ErrNotMaterialized.
func (s *Editor) Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error) {
	if err := s.access.Check(ctx, Resume, sessionID); err != nil {
		return session.Session{}, err
	}
	if err := checkTools(dynamicTools); err != nil {
		return session.Session{}, err
	}
	return s.store.Resume(ctx, sessionID, dynamicTools)
}

// Delete permanently deletes a session.
func (s *Editor) Delete(ctx context.Context, sessionID string) (session.Deleted, error) {
	asking, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	if err := s.access.Check(asking, Delete, sessionID); err != nil {
		return session.Deleted{}, err
	}
	s.family.archiveElsewhere(asking, sessionID)
	return s.store.Delete(ctx, sessionID)
}

// AssignProject moves a session into a project, or out of any (nil), and returns the previous one.
// *UnknownProjectError.
func (s *Editor) AssignProject(ctx context.Context, sessionID string, projectID *string) (assigned session.Session,
	previous *string, err error) {
	found, _, err := s.access.find(ctx, AssignProject, sessionID)
	if err != nil {
		return session.Session{}, nil, err
	}
	if projectID != nil {
		if err := checkText("projectId", *projectID, MaxProjectID); err != nil {
			return session.Session{}, nil, err
		}
	}
	if projectID != nil && !auth.ProjectsFrom(ctx).Has(*projectID) {
		return session.Session{}, nil, &UnknownProjectError{SessionID: sessionID, ProjectID: *projectID}
	}
	assigned, err = s.store.AssignProject(ctx, sessionID, projectID)
	if errors.Is(err, session.ErrProjectNotFound) && projectID != nil {
		err = &UnknownProjectError{SessionID: sessionID, ProjectID: *projectID}
	}
	return assigned, found.ProjectID, err
}

// Upsert stores entries of a session's transcript, all or none, and returns them as JSON. *InvalidError.
func (s *Editor) Upsert(ctx context.Context, sessionID string, entries []transcript.Entry) ([]json.RawMessage, error) {
	if err := checkEntries(entries); err != nil {
		return nil, err
	}
	if err := s.access.CheckSession(ctx, sessionID); err != nil {
		return nil, err
	}
	stored, err := s.store.UpsertTranscripts(ctx, sessionID, entries)
	if !errors.Is(err, session.ErrNotFound) {
		return stored, err
	}
	// For a session that is not stored here, this also looks in the runtime, and imports it.
	if err := s.access.Check(ctx, Upsert, sessionID); err != nil {
		return nil, err
	}
	return s.store.UpsertTranscripts(ctx, sessionID, entries)
}
