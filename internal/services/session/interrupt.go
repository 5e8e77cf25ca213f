package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/runtime"
)

const (
	// lateTurn bounds how long a runtime may take to know of a turn that it has accepted.
	lateTurn = time.Second
	// stopPatience is how long an agent has to end a turn that it was asked to end. Then its process is ended.
	stopPatience = 10 * time.Second
	// endPatience is how long the end of a process may take, and the wait for a message on its way to the agent.
	endPatience = 2 * time.Second
)

// NotStoppedError says that a turn was asked to end and runs on.
type NotStoppedError struct {
	SessionID, TurnID, Runtime string
	// Others counts the turns of other sessions that run in the same process, for which it was not ended.
	Others int
	// Cause is why the runtime could not end it, nil when it did not say.
	Cause error
}

// Error implements error.
func (e *NotStoppedError) Error() string {
	text := fmt.Sprintf("turn %s of session %s was asked to end and still runs", e.TurnID, e.SessionID)
	if e.Cause != nil {
		text += " (" + e.Cause.Error() + ")"
	}
	if e.Others > 0 {
		return fmt.Sprintf("%s; the %s process also runs %d turns of other sessions, so it was not ended: stop those, then stop this "+
			"turn again", text, e.Runtime, e.Others)
	}
	return text + "; stop it again, or restart the server"
}

// Unwrap makes errors.Is match runtime.ErrTurnActive.
func (e *NotStoppedError) Unwrap() error { return runtime.ErrTurnActive }

// Interrupt is StopTurn that ends the background work of the turn with it, and returns the turn.
func (s *Service) Interrupt(ctx context.Context, sessionID, turnID string) (string, error) {
	stopped, err := s.StopTurn(ctx, sessionID, turnID, false)
	return stopped.TurnID, err
}

// toInterrupt is the running turn of a session, and what can end it; errors are those of Interrupt.
func (s *Service) toInterrupt(ctx context.Context, sessionID, turnID string) (session Session, adapter runtime.Adapter,
	active string, err error) {
	row, err := readSession(ctx, s.db.Read(), sessionID)
	if errors.Is(err, ErrNotFound) {
		return Session{}, nil, "", ErrNoActiveTurn
	}
	if err == nil {
		err = s.CheckOwner(row.Session)
	}
	if err != nil {
		return Session{}, nil, "", err
	}
	s.load(row.Runtime, sessionID)
	active = s.view.active(sessionID)
	switch {
	case active == "":
		return Session{}, nil, "", ErrNoActiveTurn
	case turnID != "" && turnID != active:
		return Session{}, nil, "", fmt.Errorf("%w: %s runs, not %s", ErrWrongTurn, active, turnID)
	}
	adapter, err = s.adapter(row.Runtime)
	return row.Session, adapter, active, err
}

// holdBriefly takes the lock of a session, so that messages to it wait. A call that holds it for longer waits for the
// runtime, and is no reason not to stop that; held says whether it was taken.
func (s *Service) holdBriefly(ctx context.Context, sessionID string) (release func(), held bool) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	release, err := s.locks.Acquire(ctx, sessionID)
	if err != nil {
		return func() {}, false
	}
	return release, true
}

// stopTurn ends a turn and returns when it is over. ErrNoActiveTurn when it ended by itself, *NotStoppedError.
func (s *Service) stopTurn(ctx context.Context, adapter runtime.Adapter, session Session, turnID string) error {
	idle := s.view.whenIdle(session.ID)
	if s.view.active(session.ID) != turnID {
		return s.stoppedAlready(ctx, session.ID, turnID)
	}
	s.view.change(session.ID, func(t *thread) { t.stopping = turnID })
	defer s.view.change(session.ID, func(t *thread) { t.stopping = "" })
	patience, cancel := context.WithTimeout(ctx, s.stopPatience)
	defer cancel()
	failure := s.askToEnd(patience, adapter, session.ID, turnID, idle)
	if errors.Is(failure, runtime.ErrNoActiveTurn) || errors.Is(failure, runtime.ErrThreadNotFound) {
		return ErrNoActiveTurn // it ended by itself
	}
	if err := s.recordStop(ctx, session.ID, turnID); err != nil {
		return err
	}
	select {
	case <-idle:
	case <-patience.Done():
		if err := s.endTurnsProcess(ctx, adapter, session, turnID, failure); err != nil {
			return err
		}
	}
	return s.commit(ctx, nothing) // what is told of its end is stored before: who reads now sees that it is over
}

// stoppedAlready tells whether a turn that is over was stopped: by another request, a moment ago.
func (s *Service) stoppedAlready(ctx context.Context, sessionID, turnID string) error {
	if err := s.commit(ctx, nothing); err != nil { // what is told of its end is stored before
		return err
	}
	turn, known, err := readTurn(ctx, s.db.Read(), sessionID, turnID)
	if err == nil && (!known || turn.status != runtime.TurnInterrupted) {
		err = ErrNoActiveTurn
	}
	return err
}

// askToEnd asks a runtime to end a turn, as long as ctx allows and the turn is not over. A runtime that has just accepted
// one may say for a moment that none runs; it is asked again as long as the turn is not over here.
func (s *Service) askToEnd(ctx context.Context, adapter runtime.Adapter, threadID, turnID string, idle <-chan struct{}) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-idle:
			cancel()
		case <-ctx.Done():
		}
	}()
	for began := time.Now(); ; {
		err := adapter.InterruptTurn(ctx, threadID, turnID)
		none := errors.Is(err, runtime.ErrNoActiveTurn)
		if err != nil && !none && isOver(idle) {
			return nil // the answer is of no interest any more
		}
		if !none || isOver(idle) || time.Since(began) > lateTurn {
			return err
		}
		select {
		case <-time.After(lateTurn / 20):
		case <-ctx.Done():
		}
	}
}

func isOver(idle <-chan struct{}) bool {
	select {
	case <-idle:
		return true
	default:
		return false
	}
}

// endTurnsProcess ends the process of a turn that does not end otherwise, unless it serves other sessions that run.
func (s *Service) endTurnsProcess(ctx context.Context, adapter runtime.Adapter, session Session, turnID string, failure error) error {
	left := &NotStoppedError{SessionID: session.ID, TurnID: turnID, Runtime: session.Runtime, Cause: failure}
	if runtime.CapabilitiesOf(adapter).ProcessPer != runtime.ProcessPerThread {
		left.Others = max(s.view.limits.load(session.Runtime).Turns-1, 0)
	}
	ender, can := adapter.(runtime.Ender)
	if left.Others > 0 || !can {
		return left
	}
	s.opts.Logger.Warn().AnErr("answer", failure).Str("session", session.ID).Str("turn", turnID).Str("runtime", session.Runtime).
		Msg("a turn did not end when it was stopped; ending its process")
	idle := s.view.whenIdle(session.ID)
	ending, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	if err := ender.EndProcess(ending, session.ID, "a turn did not end when it was stopped"); err != nil {
		left.Cause = errors.Join(failure, err)
		return left
	}
	select {
	case <-idle:
		return nil
	case <-ending.Done():
		return left
	}
}
