package manager

import (
	"context"
	"errors"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// forked stores a session that its runtime has just forked from another one, with the source's client tools. If the
// source has no user, the fork gets its controls too: it must not wait for a user. Errors are those of Lookup.
func (s *conversations) forked(ctx context.Context, sourceID string, fork runtime.Thread) (session.Session, error) {
	sessionID, inherited := fork.ID, `dynamic_tools = (select dynamic_tools from sessions where id = $2)`
	if sessionID == "" { // the runtime lets this server choose the id, and enforces the source's limits
		inherited += `, controls = (select controls from sessions where id = $2)`
		source, err := s.reader.Stored(ctx, sourceID)
		if err == nil {
			err = s.storeThreads(ctx, source.Runtime, []runtime.Thread{fork}, s.now())
		}
		if err != nil {
			return session.Session{}, err
		}
		taken, err := store.ReadConversation(ctx, s.db.Read(), source.Runtime, fork)
		if err != nil {
			return session.Session{}, err
		}
		sessionID = taken.ID
		s.imports.want(sessionID)
	} else if _, err := s.adopt(ctx, sessionID); err != nil {
		return session.Session{}, err
	} else if source, err := s.reader.Stored(ctx, sourceID); err == nil &&
		(source.Controls.NonInteractive || source.Controls.NativeTools != "") {
		inherited += `, controls = (select controls from sessions where id = $2)`
	} else if err != nil && !errors.Is(err, session.ErrNotFound) { // an unstored source was opened elsewhere, by a user
		return session.Session{}, err
	}
	err := s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, errors.Join(store.InheritSources(ctx, tx, sourceID, sessionID), store.UpdateSession(ctx, tx, sessionID, inherited,
			database.EncodeText(sourceID)))
	})
	if err != nil {
		return session.Session{}, err
	}
	return s.reader.Stored(ctx, sessionID)
}

// adopt is Lookup for a caller that is about to use a session's runtime, or has just created the session. It first
// asks the runtime about a session known only from a signal. For example, a fork's signal may arrive before the reply
// to its caller.
func (s *conversations) adopt(ctx context.Context, sessionID string) (session.Session, error) {
	session, err := s.Lookup(ctx, sessionID)
	if err != nil || string(session.Thread) != store.PlaceholderThread || !s.owns(session) {
		return session, err
	}
	if s.adoptOne(ctx, session.Runtime, sessionID) == nil {
		return s.reader.Stored(ctx, sessionID)
	}
	return session, nil // only the bare row exists
}
