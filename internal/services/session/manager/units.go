package manager

import (
	"context"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// callingWait bounds how long a call waits for the turn it belongs to.
const callingWait = 10 * time.Second

// ActiveTurn is the turn that runs in a session as far as this node knows, "" when none does.
func (s *Service) ActiveTurn(sessionID string) string { return s.index.ActiveTurn(sessionID) }

// CallingTurn is ActiveTurn for a call that a runtime makes: the call may come before the runtime has told of the turn,
// so while a message to the session is on its way, what becomes of that is waited for, at most callingWait.
func (s *Service) CallingTurn(ctx context.Context, sessionID string) string {
	if turn := s.ActiveTurn(sessionID); turn != "" {
		return turn
	}
	waiting, cancel := context.WithTimeout(ctx, callingWait)
	defer cancel()
	if release, err := s.locks.Acquire(waiting, sessionID); err == nil {
		release()
	}
	return s.ActiveTurn(sessionID)
}

// UpsertTranscriptIn is UpsertTranscript as part of another package's unit: entry and event commit with that package's
// own rows. A session that is not there (any more) has nothing upserted, and an entry that changes nothing is not
// announced.
func (s *Service) UpsertTranscriptIn(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry) (
	[]journal.Event, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	merged, changed, err := s.entries.Upsert(ctx, tx, sessionID, entry)
	if err != nil || !changed {
		return nil, err
	}
	event, _ := session.TranscriptUpdated(sessionID, &merged, s.now(), systemOwned)
	return []journal.Event{event}, nil
}

// PresentIn tells, as part of another package's unit, whether a session is there.
func (s *Service) PresentIn(ctx context.Context, tx database.Tx, sessionID string) (bool, error) {
	_, err := store.IsSystemOwned(ctx, tx, sessionID)
	if session.Absent(err) {
		return false, nil
	}
	return err == nil, err
}
