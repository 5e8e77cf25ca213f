package manager

import (
	"context"
	"errors"
	"time"

	"harness/internal/services/session"
)

// stopBackground bounds how long a stop takes to end the background work of its turn.
const stopBackground = 10 * time.Second

// StopTurn stops the running turn and returns when it has ended; TurnID "" means whichever runs. An agent that does not
// end it within stopPatience has its process ended. The background work which the turn began ends with it, unless that is
// to be kept; what earlier turns began goes on. Messages wait meanwhile, so none joins a turn that is being stopped.
// ErrNoActiveTurn when none runs, ErrWrongTurn when another one does, *NotStoppedError. Background work that could not be
// ended is part of GoesOn.
func (s *Service) StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error) {
	sess, adapter, active, err := s.toInterrupt(ctx, sessionID, turnID)
	if err != nil {
		return session.Stopped{}, err
	}
	release, _ := s.holdBriefly(ctx, sessionID)
	defer release()
	// A caller who goes away does not take the stop back.
	ctx = context.WithoutCancel(ctx)
	if err := s.stopTurn(ctx, adapter, sess, active); err != nil {
		return session.Stopped{TurnID: active}, err
	}
	return s.endBackgroundOfTurn(ctx, sessionID, active, keepBackground), nil
}

// endBackgroundOfTurn ends the background work of a turn that was stopped, unless it is to be kept. What the agent has
// heard of before the stop begins no turn then.
func (s *Service) endBackgroundOfTurn(ctx context.Context, sessionID, turnID string, keep bool) session.Stopped {
	ctx, cancel := context.WithTimeout(ctx, stopBackground)
	defer cancel()
	stopped := session.Stopped{TurnID: turnID}
	var err error
	if !keep {
		stopped.Ended, err = s.endBackground(ctx, sessionID, func(task session.BackgroundTask) bool { return task.TurnID == turnID })
	}
	left, listed := s.Background(ctx, sessionID)
	if err = errors.Join(err, listed); err != nil {
		s.opts.Logger.Warn().Err(err).Str("session", sessionID).Str("turn", turnID).
			Msg("background work of a turn that was stopped may go on")
	}
	if stopped.GoesOn = left; !keep && len(left) == 0 {
		s.quiet.begin(sessionID, s.now()+quietFor)
	}
	return stopped
}
