package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/database"
	"harness/journal"
	"harness/runtime"
)

// stopPatience is how long ending a session waits for the end of the turn it interrupted, and again for whoever is at
// the session just then.
const stopPatience = 5 * time.Second

// StopSession ends what a session is doing: the running turn is interrupted, the runtime gives back what it keeps of
// the conversation, and everybody who follows it is told. The next message loads it again; one that was sent before,
// and waited for the turn, goes on with it. Without anything to end it only tells. runtime.ErrTurnActive when the turn
// does not end in time; errors else are those of Interrupt.
func (s *Service) StopSession(ctx context.Context, sessionID string) error {
	stored, err := s.stored(ctx, sessionID)
	if err != nil {
		return err
	}
	s.load(stored.Runtime, sessionID)
	idle := s.view.whenIdle(sessionID)
	interrupted, err := s.Interrupt(ctx, sessionID, "")
	if err != nil && !errors.Is(err, ErrNoActiveTurn) {
		return err
	}
	if err == nil {
		patience := time.NewTimer(stopPatience)
		defer patience.Stop()
		select {
		case <-idle:
		case <-patience.C:
			return fmt.Errorf("%w: turn %s was interrupted and has not ended yet", runtime.ErrTurnActive, interrupted)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := s.closeThread(ctx, sessionID); err != nil {
		return err
	}
	return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		systemOwned, err := presence(ctx, tx, sessionID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		return []journal.Event{sessionEvent(sessionID, EventStopped, s.now(), systemOwned, encode(struct{}{}))}, nil
	})
}

// closeThread has the runtime give back what it keeps of a session in which no turn runs. What cannot be given back now
// is when it has been idle for long enough.
func (s *Service) closeThread(ctx context.Context, sessionID string) error {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	release, err := s.locks.Acquire(ctx, sessionID)
	if err == nil {
		defer release()
		var session Session
		var adapter runtime.Adapter
		if session, adapter, err = s.owned(ctx, sessionID); err != nil {
			return err
		}
		if s.view.active(sessionID) != "" {
			return nil // a message that waited for this
		}
		err = adapter.CloseThread(ctx, session.ID)
	}
	if err != nil && !errors.Is(err, runtime.ErrUnavailable) {
		s.opts.Logger.Info().Err(err).Str("session", sessionID).
			Msg("what the runtime keeps of a session that was stopped stays for now")
	}
	return nil
}
