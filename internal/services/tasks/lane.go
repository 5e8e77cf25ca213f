package tasks

import (
	"context"
	"errors"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// lane runs the tasks of one session in order. It exists while the session has tasks.
type lane struct {
	session string
	news    wake.Signal // set when the session may have changed
}

// wake runs or checks the tasks of a session.
func (s *Service) wake(sessionID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return // the next server continues
	}
	l := s.lanes[sessionID]
	if l == nil {
		l = &lane{session: sessionID, news: wake.New()}
		s.lanes[sessionID] = l
		s.loops.Go(func(ctx context.Context) { s.drive(ctx, l) })
	}
	l.news.Set()
}

// drive runs a session's tasks until there are no more, or the service stops.
func (s *Service) drive(ctx context.Context, l *lane) {
	for ctx.Err() == nil {
		task, found, err := nextTask(ctx, s.db.Read(), l.session)
		if err == nil && !found {
			if s.leave(l) {
				return
			}
			continue
		}
		if err == nil {
			err = s.run(ctx, l, task)
		}
		if err == nil {
			continue
		}
		if ctx.Err() == nil {
			s.opts.Logger.Warn().Err(err).Str("session", l.session).Msg("task cannot continue yet; retrying")
		}
		s.pause(ctx, l)
	}
}

// leave ends a lane unless a new task was submitted.
func (s *Service) leave(l *lane) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-l.news:
		return false
	default:
		delete(s.lanes, l.session)
		return true
	}
}

// pause waits for a change of the session, or for the next poll.
func (s *Service) pause(ctx context.Context, l *lane) {
	poll := time.NewTimer(s.opts.Poll)
	defer poll.Stop()
	select {
	case <-l.news:
	case <-poll.C:
	case <-ctx.Done():
	}
}

// run advances a task by one step and waits for its result. It returns an error for a temporary failure.
func (s *Service) run(ctx context.Context, l *lane, t Task) error {
	stored, err := s.opts.Sessions.Lookup(ctx, t.SessionID)
	switch {
	case isGone(err):
		return s.forget(ctx, t.SessionID)
	case err != nil:
		return err
	case s.opts.Sessions.CheckOwner(stored) != nil:
		s.pause(ctx, l)
		return nil //nolint:nilerr // its owner, another node, runs it
	}
	switch t.Status {
	case Queued:
		return s.send(ctx, l, t, stored.Runtime)
	case starting:
		return s.recall(ctx, l, t, stored.Runtime, nil)
	case Running, Completed, Failed, Stopped:
	}
	return s.follow(ctx, l, t, stored.Runtime)
}

// follow waits for the end of a task's turn.
func (s *Service) follow(ctx context.Context, l *lane, t Task, runtimeName string) error {
	var unknownSince time.Time
	for ctx.Err() == nil {
		turn, known, err := s.opts.Sessions.Turn(ctx, t.SessionID, t.TurnID)
		if err != nil {
			return err
		}
		switch {
		case known && turn.Status != runtime.TurnInProgress:
			return s.end(ctx, t, outcomeOf(runtimeName, turnOf(turn)))
		case known:
			unknownSince = time.Time{}
		case unknownSince.IsZero():
			unknownSince = time.Now()
		case time.Since(unknownSince) > unknownLimit:
			return s.end(ctx, t, failed(runtimeName, CodeUnknown, false,
				errors.New("the turn is unknown to its session")))
		}
		now, err := readTask(ctx, s.db.Read(), t.SessionID, t.ID)
		if errors.Is(err, ErrNotFound) {
			return nil // it was deleted with its session
		}
		if err != nil {
			return err
		}
		if now.stopReason != "" && known {
			s.interrupt(ctx, t)
		}
		s.pause(ctx, l)
	}
	return nil
}

// turnOf converts a stored turn.
func turnOf(turn session.TurnState) runtime.Turn {
	return runtime.Turn{Status: turn.Status, Error: turn.Error, Kind: turn.Kind, Native: turn.Native}
}

// interruptTime bounds one attempt to interrupt.
const interruptTime = 5 * time.Second

// interrupt makes the runtime end the turn of a stopped task, with retries until it has ended.
func (s *Service) interrupt(ctx context.Context, t Task) {
	ctx, cancel := context.WithTimeout(ctx, interruptTime)
	defer cancel()
	_, err := s.opts.Sessions.StopTurn(ctx, t.SessionID, t.TurnID, false)
	if err != nil && ctx.Err() == nil && !errors.Is(err, session.ErrNoActiveTurn) && !errors.Is(err, session.ErrWrongTurn) {
		s.opts.Logger.Warn().Err(err).Str("session", t.SessionID).Str("task", t.ID).
			Msg("the turn of a stopped task could not be interrupted; trying again")
	}
}

// refused reports whether an error proves that no turn began.
func refused(err error) bool {
	var native *runtime.Error
	var elsewhere *session.NotOwnerError
	if working := (*session.BackgroundError)(nil); errors.As(err, &working) {
		return true
	}
	return errors.Is(err, runtime.ErrTurnActive) || errors.As(err, &elsewhere) ||
		errors.As(err, &native) && !errors.Is(err, runtime.ErrTimeout)
}

// passes reports whether an unsent message can be sent once another activity has ended.
func passes(err error) bool {
	var limit *session.LimitError
	return errors.Is(err, runtime.ErrTurnActive) || errors.As(err, &limit) || database.Transient(err)
}
