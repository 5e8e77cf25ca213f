package manager

import (
	"context"
	"errors"
	"sync/atomic"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// SendWaiting sends a waiting message at once: into the turn that runs where the runtime steers, else as a turn of its
// own, for which a running turn is interrupted. One that was held is sent again. ErrWaitingNotFound, ErrWaitingSent.
func (s *Service) SendWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	sess, adapter, err := s.owned(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	s.load(sess.Runtime, sessionID)
	active := s.view.active(sessionID)
	now, err := s.putFirst(ctx, sessionID, id)
	if err != nil || active == "" {
		return now, err // who sends what waits sends it
	}
	if _, steers := runtime.Has[runtime.Steerer](adapter, runtime.OpSteer); steers {
		err = s.steerWaiting(ctx, now[0])
	} else {
		_, err = s.StopTurn(ctx, sessionID, active, true) // the message goes on with what the turn has begun
		if errors.Is(err, session.ErrNoActiveTurn) || errors.Is(err, session.ErrWrongTurn) {
			err = nil // that turn is over
		}
	}
	if err != nil {
		return nil, err
	}
	return s.Waiting(ctx, sessionID)
}

// putFirst puts a waiting message before all others, to be sent even if it was held.
func (s *Service) putFirst(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	return s.changeWaiting(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		if _, err := waitingOne(ctx, tx, sessionID, id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `update queued_messages set state = 'queued', error = '', place =
			(select min(place) from queued_messages where session_id = $2) - 1 where id = $1`,
			database.EncodeText(id), database.EncodeText(sessionID))
		return err
	})
}

// steerWaiting tells a waiting message as any other is told, into the turn that runs. A failure that leaves open
// whether the runtime took it holds it (settle).
func (s *Service) steerWaiting(ctx context.Context, one session.Waiting) error {
	var begun atomic.Bool // also set when the unit runs after Send gave up
	message, err := s.toSend(ctx, one)
	if err != nil {
		return err
	}
	message.Begin = func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		still, err := waitingOne(ctx, tx, one.SessionID, one.ID)
		if err != nil {
			return nil, err
		}
		if still.Text != one.Text {
			return nil, journal.Refuse(errWaitingChanged)
		}
		begun.Store(true)
		return s.putWaiting(ctx, tx, one, session.WaitingSending, steeredMark, "")
	}
	message.Accepted = func(ctx context.Context, tx database.Tx, turnID string) ([]journal.Event, error) {
		return s.sentWaiting(ctx, tx, one, turnID)
	}
	_, err = s.Send(ctx, one.SessionID, message)
	var refused *runtime.Error
	switch {
	case errors.Is(err, session.ErrWaitingNotFound), errors.Is(err, session.ErrWaitingSent), errors.Is(err, errWaitingChanged):
		return nil // the turn ended and it is sent as one of its own, or somebody edited or dropped it meanwhile
	case err == nil || !begun.Load():
		return err
	case errors.As(err, &refused):
		return errors.Join(err, s.markWaiting(context.WithoutCancel(ctx), one, session.WaitingHeld, err.Error()))
	}
	return errors.Join(err, s.settleTelling(context.WithoutCancel(ctx), one.SessionID))
}
