package manager

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/lineage"
	"harness/internal/services/session/live"
	"harness/internal/services/session/projects"
	"harness/internal/services/session/reading"
	"harness/internal/services/session/registry"
	"harness/internal/services/session/store"
	"harness/internal/services/session/takeover"
	"harness/transcript"
)

// Deleter permanently deletes sessions.
type Deleter struct {
	journal    *journal.Journal
	locks      *keylock.Locks
	index      *live.Index
	reader     *reading.Reader
	runtimes   *registry.Registry
	agents     *projects.Agents
	stopper    *Stopper
	deletions  *deletionSender
	engine     database.Engine
	ended      *takeover.EndedTurns // of folders
	trees      Trees
	lookup     func(ctx context.Context, sessionID string) (session.Session, error)
	checkOwner func(one session.Session) error
	archive    func(ctx context.Context, sessionID string) (session.Session, error)
	lineage    *lineage.Reader
	loadView   func(runtimeName, sessionID string)
	inOrder    func(ctx context.Context, prepare func() journal.Unit) error
	log        zerolog.Logger
	now        func() int64 // ms
}

// Delete permanently deletes a session. It interrupts the running turn, makes the runtime delete the conversation, and
// deletes the rows. A tombstone stays: the session is still "deleted" after a restart, and no late signal restores it.
// If the runtime does not answer in time, sendDeletions notifies it later; DeletedFileCount is then 0.
func (s *Deleter) Delete(ctx context.Context, sessionID string) (session.Deleted, error) {
	return s.DeleteBy(ctx, sessionID, time.Now().Add(session.DeletePatience))
}

// DeleteBy is Delete with a deadline for runtime calls, so that several deletions share one deadline.
func (s *Deleter) DeleteBy(ctx context.Context, sessionID string, by time.Time) (session.Deleted, error) {
	if err := s.journal.AwaitWrites(ctx); err != nil {
		return session.Deleted{}, err // before any call to the runtime
	}
	asking, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	release, err := s.locks.Acquire(asking, sessionID)
	switch {
	case err == nil:
		defer release()
	case ctx.Err() != nil:
		return session.Deleted{}, err
	default:
		// The holder of the lock waits for the runtime. Its later changes find the tombstone, as after a deletion on
		// another node.
	}
	sess, err := s.reader.Stored(ctx, sessionID)
	if errors.Is(err, session.ErrNotFound) {
		sess, err = s.lookup(asking, sessionID)
	}
	if err == nil {
		err = s.checkOwner(sess)
	}
	if err != nil {
		return session.Deleted{}, err
	}
	s.loadView(sess.Runtime, sessionID)
	ctx = context.WithoutCancel(ctx) // a deletion must be complete
	s.archiveDescendants(ctx, sessionID, by)
	files, notified, err := s.deleteThread(ctx, sess, by)
	if err != nil {
		return session.Deleted{}, err
	}
	dismissed, err := s.markGone(ctx, sess, notified)
	if err != nil {
		return session.Deleted{}, err
	}
	s.agents.RemoveWorkers(ctx, dismissed, by)
	return session.Deleted{SessionID: sessionID, Title: sess.Title, DeletedFileCount: files}, nil
}

// archiveDescendants archives the sessions that a session started, and those below them. It does so before the deletion,
// so that a repeated deletion completes it. A failure does not prevent the deletion.
func (s *Deleter) archiveDescendants(ctx context.Context, sessionID string, by time.Time) {
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	below, err := s.lineage.Descendants(ctx, sessionID)
	for _, one := range below {
		if found, gone := s.reader.Stored(ctx, one.SessionID); gone != nil || found.Archived {
			continue
		}
		if _, failed := s.archive(ctx, one.SessionID); failed != nil && !session.Absent(failed) {
			err = errors.Join(err, failed)
		}
	}
	if err != nil {
		s.log.Warn().Err(err).Str("session", sessionID).Msg("a subagent's session of a deleted session was not archived; archive it")
	}
}

// deleteThread makes the runtime end the running turn and delete the conversation. notified is false if the runtime
// did not answer in time.
func (s *Deleter) deleteThread(ctx context.Context, session session.Session, by time.Time) (files int, notified bool, err error) {
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	adapter, err := s.runtimes.Adapter(session.Runtime)
	if err == nil {
		s.stopper.endWork(ctx, adapter, session)
		if err = ctx.Err(); err == nil {
			files, err = deleteThread(ctx, adapter, session)
		}
	}
	if noAnswer(err) || errors.Is(err, runtime.ErrTurnActive) {
		s.log.Warn().Err(err).Str("session", session.ID).
			Msg("runtime not responding; session deleted here, and in the runtime once it responds")
		return 0, false, nil
	}
	return files, err == nil, err
}

// deleteThread makes a runtime delete a conversation, if the runtime stores conversations.
func deleteThread(ctx context.Context, adapter runtime.Adapter, session session.Session) (files int, err error) {
	if librarian, ok := runtime.Has[runtime.Archiver](adapter, runtime.OpArchive); ok {
		return librarian.DeleteThread(ctx, session.RuntimeSessionID)
	}
	if forgetter, ok := adapter.(runtime.Forgetter); ok {
		return forgetter.ForgetThread(ctx, runtime.ResumeThread{ThreadID: session.ID, NativeID: session.RuntimeSessionID})
	}
	return 0, nil
}

// markGone replaces a session's rows with its tombstone and returns the sessions of its workers, which are no longer
// needed. If notified is false, the same transaction records that the runtime must still delete the conversation. Once
// the unit is queued, signals of the session count as signals of a purged session.
func (s *Deleter) markGone(ctx context.Context, sess session.Session, notified bool) (dismissed []string, err error) {
	id := sess.ID
	var workers atomic.Pointer[[]string] // the unit may still run after this call returns
	err = s.inOrder(ctx, func() journal.Unit {
		gone := session.DeletedError{SessionID: id, Title: sess.Title, DeletedAt: s.now(), Runtime: sess.Runtime,
			NativeID: sess.RuntimeSessionID}
		s.index.Update(id, func(t *live.Session) {
			t.Deleted = true
			t.SetIdle()
		})
		return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			stored, err := store.ReadSession(ctx, tx, id)
			if err != nil {
				return nil, journal.Refuse(err)
			}
			pending, err := store.PendingRequests(ctx, tx, id)
			if err != nil {
				return nil, err
			}
			var events []journal.Event
			for _, request := range pending {
				event, err := expireRequest(ctx, tx, request, session.EventSource, gone.DeletedAt)
				if err != nil {
					return nil, err
				}
				events = append(events, event)
			}
			if err := removeRows(ctx, tx, s.engine, gone, stored.SystemOwned); err != nil {
				return nil, err
			}
			if !notified {
				if err := s.deletions.noteDeletion(ctx, tx, stored.Session, gone.DeletedAt); err != nil {
					return nil, err
				}
			}
			found, err := s.agents.DismissIn(ctx, tx, session.Session{ID: id}.Owner())
			if err != nil {
				return nil, err
			}
			workers.Store(&found)
			return append(events, sessionDeleted(gone, stored.SystemOwned)), nil
		}
	})
	if err != nil {
		s.index.Forget(id) // the store has the true state
		return nil, err
	}
	if !notified {
		s.deletions.wake.Set()
	}
	s.ended.Wake.Set() // the session may have a stored folder
	if s.trees != nil {
		s.trees.Forget(id, sess.Cwd)
	}
	return *workers.Load(), nil
}

func removeRows(ctx context.Context, tx database.Tx, engine database.Engine, gone session.DeletedError, systemOwned bool) error {
	key := database.EncodeText(gone.SessionID)
	if err := (transcript.Store{}).Delete(ctx, tx, gone.SessionID); err != nil {
		return err
	}
	// A permanent deletion also removes the conversation from replays of the stream.
	if err := journal.Redact(ctx, tx, key); err != nil {
		return err
	}
	if err := store.MarkWorkspaceUnneeded(ctx, tx, gone.SessionID); err != nil {
		return err
	}
	if err := store.DeleteRows(ctx, tx, engine, gone.SessionID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx,
		`insert into deleted_sessions (session_id, title, system_owned, deleted_at, runtime, runtime_session_id)
		values ($1, $2, $3, $4, $5, $6)`,
		key, database.EncodeText(gone.Title), store.Flag(systemOwned), gone.DeletedAt, gone.Runtime,
		database.EncodeText(gone.NativeID))
	if err != nil {
		return fmt.Errorf("store tombstone of session %s: %w", gone.SessionID, err)
	}
	return nil
}
