package manager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
)

// Organizer renames, archives and resumes sessions, and assigns their projects.
type Organizer struct {
	db       *database.DB
	journal  *journal.Journal
	index    *live.Index
	locks    *keylock.Locks
	reader   *reading.Reader
	runtimes *registry.Registry
	folders  *workspace.Checker
	stopper  *Stopper
	importer *importer
	inOrder  func(ctx context.Context, prepare func() journal.Unit) error
	loadView func(runtimeName, sessionID string)
	lookup   func(ctx context.Context, sessionID string) (session.Session, error)
	owned    func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
	refetch  func(sessionID string)
	now      func() int64 // ms
}

// caller returns the author of the caller's changes.
func (s *Organizer) caller(ctx context.Context) session.Author {
	return session.Author{Actor: s.journal.Actor(ctx), Name: s.journal.ActorName(ctx)}
}

// Rename changes a session's title here, and in its runtime if the runtime stores names.
func (s *Organizer) Rename(ctx context.Context, sessionID, title string) (session.Session, error) {
	source := session.TitleUser
	if actor := s.journal.Actor(ctx); actor == "agent" || strings.HasPrefix(actor, "agent:") {
		source = session.TitleAgent
	}
	return s.rename(ctx, sessionID, title, "", source)
}

// RenameFrom is Rename by an extension, of a session that has the given title, or any title for "". It returns
// *TitleError, and changes nothing, if the title differs.
func (s *Organizer) RenameFrom(ctx context.Context, sessionID, title, from string) (session.Session, error) {
	return s.rename(ctx, sessionID, title, from, session.TitleAgent)
}

func (s *Organizer) rename(ctx context.Context, sessionID, title, from string, source session.TitleSource) (session.Session, error) {
	return s.manage(ctx, sessionID, func(ctx context.Context, sess session.Session, adapter runtime.Adapter) (change, error) {
		if from != "" && sess.Title != from {
			return nil, &session.TitleError{SessionID: sessionID, Title: sess.Title}
		}
		librarian, notified := runtime.Has[runtime.Archiver](adapter, runtime.OpArchive)
		if notified {
			// If the runtime lost the conversation, the row and its title stay.
			err := librarian.NameThread(ctx, sess.RuntimeSessionID, title)
			if err != nil && !errors.Is(err, runtime.ErrThreadNotFound) {
				return nil, err
			}
		}
		s.index.Update(sessionID, func(t *live.Session) {
			t.SetTitle(title)
			t.NamedByUser = source == session.TitleUser && session.Names(title)
		})
		return func(ctx context.Context, tx database.Tx, at int64) ([]journal.Event, error) {
			if from != "" {
				// Other calls on the session wait for this one. If the title differs now, the runtime changed it after
				// accepting this one.
				stored, err := store.ReadSession(ctx, tx, sessionID)
				if err == nil && stored.Title != from && stored.Title != title {
					err = &session.TitleError{SessionID: sessionID, Title: stored.Title}
				}
				if err != nil {
					return nil, journal.Refuse(err)
				}
			}
			err := errors.Join(store.SetTitle(ctx, tx, sessionID, title, source),
				store.TouchSession(ctx, tx, sessionID, at))
			events := []journal.Event{sessionRenamed(sessionID, title, at)}
			if !notified { // no runtime notifies clients
				sess.Title = title
				events = append(events, titleNotification(sess, at))
			}
			return events, err
		}, nil
	})
}

// Archive archives a session, and also in its runtime if that has an archive. It returns ErrNotMaterialized if the
// runtime has nothing stored to archive. It ends everything that runs in the session, and marks its queued messages as
// held.
func (s *Organizer) Archive(ctx context.Context, sessionID string) (session.Session, error) {
	return s.manage(ctx, sessionID, func(ctx context.Context, session session.Session, adapter runtime.Adapter) (change, error) {
		s.stopper.endWork(ctx, adapter, session)
		if librarian, ok := runtime.Has[runtime.Archiver](adapter, runtime.OpArchive); ok {
			if err := librarian.ArchiveThread(ctx, session.RuntimeSessionID); err != nil {
				return nil, materialized(err)
			}
		}
		var t runtime.Thread
		if historian, ok := runtime.Has[runtime.History](adapter, runtime.OpHistory); ok {
			// The conversation's file has moved. A failure to read its new path does not fail the call.
			t, _ = historian.ReadThread(ctx, session.RuntimeSessionID, false)
		}
		author := s.caller(ctx)
		return func(ctx context.Context, tx database.Tx, at int64) ([]journal.Event, error) {
			held, err := s.stopper.holdQueued(ctx, tx, sessionID, "the session was archived; unarchive it, then send the message again")
			return held, errors.Join(err, store.SetArchived(ctx, tx, sessionID, author, at), storeThread(ctx, tx, sessionID, t))
		}, nil
	})
}

// Unarchive restores an archived session.
func (s *Organizer) Unarchive(ctx context.Context, sessionID string) (session.Session, error) {
	var t runtime.Thread
	return withReportedThread(&t)(s.manage(ctx, sessionID, func(ctx context.Context, session session.Session, adapter runtime.Adapter) (
		change, error) {
		if librarian, ok := runtime.Has[runtime.Archiver](adapter, runtime.OpArchive); ok {
			var err error
			if t, err = librarian.UnarchiveThread(ctx, session.RuntimeSessionID); err != nil {
				return nil, materialized(err)
			}
		}
		return func(ctx context.Context, tx database.Tx, _ int64) ([]journal.Event, error) {
			return nil, errors.Join(store.UpdateSession(ctx, tx, sessionID, `archived = 0, archived_at = 0, archived_by = ''`),
				storeThread(ctx, tx, sessionID, t))
		}, nil
	}))
}

// Resume loads the conversation in its runtime, so that the runtime sends its events; turns do this themselves. Errors
// include *ToolsError for client tools that differ from the session's, and *FolderError.
func (s *Organizer) Resume(ctx context.Context, sessionID string, dynamicTools json.RawMessage) (session.Session, error) {
	var t runtime.Thread
	resumed, err := withReportedThread(&t)(
		s.manage(ctx, sessionID, func(ctx context.Context, session session.Session, adapter runtime.Adapter) (change, error) {
			_, err := s.folders.Workspace(session)
			if err == nil {
				err = s.runtimes.CheckTools(ctx, sessionID, dynamicTools)
			}
			if err != nil {
				return nil, err
			}
			if t, err = adapter.Threads().ResumeThread(ctx,
				runtime.ResumeThread{ThreadID: session.ID, NativeID: session.RuntimeSessionID}); err != nil {
				return nil, materialized(err)
			}
			return func(ctx context.Context, tx database.Tx, _ int64) ([]journal.Event, error) {
				err := storeThread(ctx, tx, sessionID, t)
				if t.UpdatedAt > session.UpdatedAt { // it changed without this server
					err = errors.Join(err, store.UpdateSession(ctx, tx, sessionID, `history_at = 0`))
				}
				return nil, err
			}, nil
		}))
	if err == nil && resumed.HistoryAt == 0 {
		s.importer.imports.want(sessionID)
	}
	return resumed, err
}

// withReportedThread returns a session with the runtime's latest description, including the history that is not
// stored.
func withReportedThread(t *runtime.Thread) func(session.Session, error) (session.Session, error) {
	return func(session session.Session, err error) (session.Session, error) {
		if err == nil && len(t.Raw) > 0 {
			session.Thread = t.Raw
		}
		return session, err
	}
}

// change changes a session's row for a management call.
type change func(ctx context.Context, tx database.Tx, at int64) ([]journal.Event, error)

// manage runs every management call: it finds the session, calls the runtime, and stores the result. Calls on one
// session run in sequence, so that the store and the runtime end with the same state.
func (s *Organizer) manage(ctx context.Context, sessionID string,
	act func(context.Context, session.Session, runtime.Adapter) (change, error)) (session.Session, error) {
	if err := s.journal.AwaitWrites(ctx); err != nil {
		return session.Session{}, err // before any call to the runtime
	}
	release, err := s.locks.Acquire(ctx, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	defer release()
	sess, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	// From here on, ignore cancellation: the row must show the runtime's change.
	ctx = context.WithoutCancel(ctx)
	apply, err := act(ctx, sess, adapter)
	if err != nil {
		return session.Session{}, err
	}
	s.loadView(sess.Runtime, sessionID)
	s.index.Update(sessionID, func(t *live.Session) { t.ManagedAt = s.now() })
	at := s.now()
	err = s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := store.IsSystemOwned(ctx, tx, sessionID); err != nil {
			return nil, journal.Refuse(err)
		}
		return apply(ctx, tx, at)
	})
	if err != nil {
		s.refetch(sessionID)
		return session.Session{}, err
	}
	return s.reader.Shown(ctx, sessionID)
}

func materialized(err error) error {
	if errors.Is(err, runtime.ErrThreadNotFound) {
		return runtime.WithKind(session.ErrNotMaterialized, err)
	}
	return err
}

// storeThread stores the runtime's latest description of a conversation.
func storeThread(ctx context.Context, tx database.Tx, sessionID string, t runtime.Thread) error {
	if len(t.Raw) == 0 {
		return nil
	}
	// Strip the history that some answers contain: otherwise every read of the session would load it.
	return store.UpdateSession(ctx, tx, sessionID, `thread = $2, model = case when $3 = '' then model else $3 end`,
		string(withoutTurns(t.Raw)), database.EncodeText(t.Model))
}

// AssignProject puts a session into a project, or removes it from one (nil). It checks first whether the session was
// deleted, then the project, then the session. If nothing changes, it publishes no event.
func (s *Organizer) AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error) {
	var gone *session.DeletedError
	if err := store.CheckTombstone(ctx, s.db.Read(), sessionID); errors.As(err, &gone) {
		return session.Session{}, gone
	}
	if projectID != nil {
		if _, err := store.ReadProject(ctx, s.db.Read(), *projectID); err != nil {
			return session.Session{}, err
		}
	}
	sess, err := s.lookup(ctx, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	s.loadView(sess.Runtime, sessionID)
	err = s.inOrder(ctx, func() journal.Unit {
		s.index.Update(sessionID, func(t *live.Session) { t.SetProject(projectID) })
		return s.assignment(sessionID, projectID)
	})
	if err != nil {
		s.refetch(sessionID)
		return session.Session{}, err
	}
	return s.reader.Shown(ctx, sessionID)
}

func (s *Organizer) assignment(sessionID string, projectID *string) journal.Unit {
	at := s.now()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if projectID != nil {
			if _, err := store.ReadProject(ctx, tx, *projectID); err != nil {
				return nil, journal.Refuse(err)
			}
		}
		stored, err := store.ReadSession(ctx, tx, sessionID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		if session.EqualText(projectID, stored.ProjectID) {
			return nil, nil
		}
		if err := store.MoveToProject(ctx, tx, sessionID, projectID); err != nil {
			return nil, err
		}
		return []journal.Event{sessionProjectUpdated(sessionID, projectID, stored.ProjectID, at, stored.SystemOwned)}, nil
	}
}
