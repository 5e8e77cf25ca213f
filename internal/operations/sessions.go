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

// EditorStore is what Editor needs of sessions.
type EditorStore interface {
	Rename(ctx context.Context, sessionID, title string) (session.Session, error)
	Archive(ctx context.Context, sessionID string) (session.Session, error)
	Unarchive(ctx context.Context, sessionID string) (session.Session, error)
	// Resume loads the session in its runtime and tells it of these tools of the client.
	Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error)
	Delete(ctx context.Context, sessionID string) (session.Deleted, error)
	AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error)
	// UpsertTranscripts stores the entries, all or none, and announces each as it is, which is also returned as JSON. The
	// session must exist (Lookup).
	UpsertTranscripts(ctx context.Context, sessionID string, entries []transcript.Entry) ([]json.RawMessage, error)
}

// Editor changes sessions and their transcripts.
type Editor struct {
	access *Access
	store  EditorStore
}

// lookupPatience is how long a deletion waits for a runtime to say whether it knows a session that is not stored here.
// With what the deletion itself may wait, that is less than 10 s.
const lookupPatience = 3 * time.Second

// Rename gives a session a title. *InvalidError.
func (s *Editor) Rename(ctx context.Context, sessionID, title string) (session.Session, error) {
	if err := s.access.Check(ctx, Rename, sessionID); err != nil {
		return session.Session{}, err
	}
	if err := checkText("title", title, MaxTitle); err != nil {
		return session.Session{}, err
	}
	return s.store.Rename(ctx, sessionID, title)
}

// Archive puts a session away: session.ErrNotMaterialized for one that is, or that has nothing to put away.
func (s *Editor) Archive(ctx context.Context, sessionID string) (session.Session, error) {
	found, _, err := s.access.find(ctx, Archive, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	if found.Archived {
		return session.Session{}, session.ErrNotMaterialized // what codex-manager calls it, too
	}
	return s.store.Archive(ctx, sessionID)
}

// Unarchive takes a session back. session.ErrNotMaterialized.
func (s *Editor) Unarchive(ctx context.Context, sessionID string) (session.Session, error) {
	return after(s.access.Check(ctx, Unarchive, sessionID), func() (session.Session, error) {
		return s.store.Unarchive(ctx, sessionID)
	})
}

// Resume loads a session in its runtime, so that its events flow. *session.ToolsError, session.ErrNotMaterialized.
func (s *Editor) Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error) {
	if err := s.access.Check(ctx, Resume, sessionID); err != nil {
		return session.Session{}, err
	}
	if err := checkTools(dynamicTools); err != nil {
		return session.Session{}, err
	}
	return s.store.Resume(ctx, sessionID, dynamicTools)
}

// Delete deletes a session for good.
func (s *Editor) Delete(ctx context.Context, sessionID string) (session.Deleted, error) {
	asking, cancel := context.WithTimeout(ctx, lookupPatience)
	defer cancel()
	if err := s.access.Check(asking, Delete, sessionID); err != nil {
		return session.Deleted{}, err
	}
	return s.store.Delete(ctx, sessionID)
}

// AssignProject puts a session into a project, or takes it out (nil), and tells which it was in before.
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
	// Not stored here: it is looked for at the runtime, too, and taken in.
	if err := s.access.Check(ctx, Upsert, sessionID); err != nil {
		return nil, err
	}
	return s.store.UpsertTranscripts(ctx, sessionID, entries)
}
