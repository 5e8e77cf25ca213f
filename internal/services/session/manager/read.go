package manager

import (
	"context"
	"errors"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Limits of a list page.
const (
	defaultPage = 100
	largestPage = 200
)

// forked takes in a session that its runtime has just made of another one; it has that one's client tools, and its
// controls where nobody is there to be asked: a fork of such a session must not wait for a person. Errors are those of
// Lookup.
func (s *Service) forked(ctx context.Context, sourceID string, fork runtime.Thread) (session.Session, error) {
	sessionID, inherited := fork.ID, `dynamic_tools = (select dynamic_tools from sessions where id = $2)`
	if sessionID == "" { // its runtime leaves to us what it is called, and enforces what its source may do
		inherited += `, controls = (select controls from sessions where id = $2)`
		source, err := s.stored(ctx, sourceID)
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
	} else if source, err := s.stored(ctx, sourceID); err == nil && (source.Controls.NonInteractive || source.Controls.NativeTools != "") {
		inherited += `, controls = (select controls from sessions where id = $2)`
	} else if err != nil && !errors.Is(err, session.ErrNotFound) { // one that is not stored was opened elsewhere, with a person
		return session.Session{}, err
	}
	err := s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, errors.Join(store.InheritSources(ctx, tx, sourceID, sessionID), store.UpdateSession(ctx, tx, sessionID, inherited,
			database.EncodeText(sourceID)))
	})
	if err != nil {
		return session.Session{}, err
	}
	return s.stored(ctx, sessionID)
}

// adopt is Lookup for who is about to use a session's runtime, or has just made it: a session of which only a signal
// told so far is asked about first. A fork's signal, for one, is faster than the answer to who asked for the fork.
func (s *Service) adopt(ctx context.Context, sessionID string) (session.Session, error) {
	session, err := s.Lookup(ctx, sessionID)
	if err != nil || string(session.Thread) != store.PlaceholderThread || !s.Owns(session) {
		return session, err
	}
	if s.adoptOne(ctx, session.Runtime, sessionID) == nil {
		return s.stored(ctx, sessionID)
	}
	return session, nil // the bare row is what there is
}

// Keeps tells whether a session is stored. No runtime is asked.
func (s *Service) Keeps(ctx context.Context, sessionID string) (bool, error) {
	_, err := store.ReadSession(ctx, s.db.Read(), sessionID)
	var deleted *session.DeletedError
	if errors.Is(err, session.ErrNotFound) || errors.As(err, &deleted) {
		return false, nil
	}
	return err == nil, err
}

// stored reads a session from its row.
func (s *Service) stored(ctx context.Context, sessionID string) (session.Session, error) {
	return s.storedIn(ctx, s.db.Read(), sessionID)
}

func (s *Service) storedIn(ctx context.Context, q database.Querier, sessionID string) (session.Session, error) {
	row, err := store.ReadSession(ctx, q, sessionID)
	if err != nil {
		return session.Session{}, err
	}
	defaults, err := s.defaults(ctx, q)
	if err != nil {
		return session.Session{}, err
	}
	return row.Effective(s.DefaultsFor(row.Runtime, defaults))
}

// TranscriptPage reads at most limit entries behind the first offset ones, as Read shows them and in its order or, newest
// first, in the reverse one. Only the page is read; the transcript's length is counted in an index. Errors are those of
// Lookup.
func (s *Service) TranscriptPage(ctx context.Context, sessionID string, offset, limit int, newestFirst bool) (
	page session.TranscriptPage, err error) {
	session, err := s.Lookup(ctx, sessionID)
	if err == nil {
		err = s.awaitHistory(ctx, session)
	}
	if err != nil {
		return page, err
	}
	err = s.db.Snapshot(ctx, func(q database.Querier) error {
		if page.Total, err = s.entries.Count(ctx, q, sessionID); err != nil {
			return err
		}
		if page.Entries, err = s.entries.Page(ctx, q, sessionID, offset, limit, newestFirst); err != nil {
			return err
		}
		if err := s.showTexts(ctx, q, sessionID, page.Entries); err != nil {
			return err
		}
		turns, err := store.ReadTurnsOf(ctx, q, sessionID, page.Entries)
		transcript.Settle(page.Entries, store.TurnTimes(turns))
		return err
	})
	return page, err
}

// MessageCounts is how many entries the transcripts of sessions have, by session.
func (s *Service) MessageCounts(ctx context.Context, sessionIDs []string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := s.db.Snapshot(ctx, func(q database.Querier) error {
		for _, id := range sessionIDs {
			count, err := s.entries.Count(ctx, q, id)
			if err != nil {
				return err
			}
			counts[id] = count
		}
		return nil
	})
	return counts, err
}
