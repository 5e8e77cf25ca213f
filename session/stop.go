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

// stopPatience is how long ending a session waits for whoever is at it just then, and again for the end of the turn it
// interrupted.
const stopPatience = 5 * time.Second

// StopSession ends what a session is doing: the running turn is interrupted, the runtime gives back what it keeps of
// the conversation, and everybody who follows it is told. The next message loads it again, also one that was sent
// before and waits for the turn. Without anything to end it only tells. runtime.ErrTurnActive when the turn does not
// end in time; errors else are those of Interrupt.
func (s *Service) StopSession(ctx context.Context, sessionID string) error {
	// Messages that wait for the turn come after this. Who holds the session for longer waits for its runtime, and is no
	// reason not to interrupt that.
	waiting, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	release, err := s.locks.Acquire(waiting, sessionID)
	locked := err == nil
	if locked {
		defer release()
	}
	stored, err := s.stored(ctx, sessionID)
	if err == nil {
		err = s.endTurn(ctx, stored)
	}
	if err != nil {
		return err
	}
	if locked {
		s.closeThread(ctx, stored)
	}
	return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		systemOwned, err := presence(ctx, tx, sessionID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		return []journal.Event{sessionEvent(sessionID, EventStopped, s.now(), systemOwned, encode(struct{}{}))}, nil
	})
}

// endTurn interrupts the running turn, if there is one, and waits for its end.
func (s *Service) endTurn(ctx context.Context, session Session) error {
	s.load(session.Runtime, session.ID)
	idle := s.view.whenIdle(session.ID)
	turnID, err := s.Interrupt(ctx, session.ID, "")
	if errors.Is(err, ErrNoActiveTurn) {
		return nil
	}
	if err != nil {
		return err
	}
	select {
	case <-idle:
		return nil
	case <-time.After(stopPatience):
		return fmt.Errorf("%w: turn %s was interrupted and has not ended yet", runtime.ErrTurnActive, turnID)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// closeThread has the runtime give back what it keeps of a session. What cannot be given back now is when the session
// has been idle for long enough.
func (s *Service) closeThread(ctx context.Context, session Session) {
	ctx, cancel := context.WithTimeout(ctx, stopPatience)
	defer cancel()
	adapter, err := s.adapter(session.Runtime)
	if err == nil {
		err = adapter.CloseThread(ctx, session.ID)
	}
	if err != nil && !errors.Is(err, runtime.ErrUnavailable) {
		s.opts.Logger.Info().Err(err).Str("session", session.ID).
			Msg("what the runtime keeps of a session that was stopped stays for now")
	}
}
