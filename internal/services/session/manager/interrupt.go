package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

const (
	// lateTurn limits how long a runtime may report a turn it has accepted as unknown.
	lateTurn = time.Second
	// stopPatience is how long an agent has to end a turn after a stop. After that, the server ends its process.
	stopPatience = 10 * time.Second
	// endPatience limits the end of a process, and the wait for a message that is being sent to the agent.
	endPatience = 2 * time.Second
)

// Interrupt is StopTurn that also ends the turn's background work, and returns the turn's id.
func (s *Stopper) Interrupt(ctx context.Context, sessionID, turnID string) (string, error) {
	stopped, err := s.StopTurn(ctx, sessionID, turnID, false)
	return stopped.TurnID, err
}

// toInterrupt finds the running turn of a session, and the runtime that can end it. Errors are those of Interrupt.
func (s *Stopper) toInterrupt(ctx context.Context, sessionID, turnID string) (sess session.Session, adapter runtime.Adapter,
	active string, err error) {
	row, err := store.ReadSession(ctx, s.options.DB.Read(), sessionID)
	if errors.Is(err, session.ErrNotFound) {
		return session.Session{}, nil, "", session.ErrNoActiveTurn
	}
	if err == nil {
		err = s.options.CheckOwner(row.Session)
	}
	if err != nil {
		return session.Session{}, nil, "", err
	}
	s.options.LoadView(row.Runtime, sessionID)
	active = s.options.Index.ActiveTurn(sessionID)
	switch {
	case active == "":
		return session.Session{}, nil, "", session.ErrNoActiveTurn
	case turnID != "" && turnID != active:
		return session.Session{}, nil, "", fmt.Errorf("%w: %s runs, not %s", session.ErrWrongTurn, active, turnID)
	}
	adapter, err = s.options.Runtimes.Adapter(row.Runtime)
	return row.Session, adapter, active, err
}

// holdBriefly locks a session, so that messages to it wait. A caller that holds the lock for longer is waiting for the
// runtime, and must not prevent the stop. held reports whether holdBriefly took the lock.
func (s *Stopper) holdBriefly(ctx context.Context, sessionID string) (release func(), held bool) {
	ctx, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	release, err := s.options.Locks.Acquire(ctx, sessionID)
	if err != nil {
		return func() {}, false
	}
	return release, true
}

// stopTurn ends a turn and returns after its end. It returns ErrNoActiveTurn if the turn ended by itself, or
// *NotStoppedError.
func (s *Stopper) stopTurn(ctx context.Context, adapter runtime.Adapter, sess session.Session, turnID string) error {
	idle := s.options.Index.WhenIdle(sess.ID)
	if s.options.Index.ActiveTurn(sess.ID) != turnID {
		return s.stoppedAlready(ctx, sess.ID, turnID)
	}
	s.options.Index.Update(sess.ID, func(t *live.Session) { t.Stopping = turnID })
	defer s.options.Index.Update(sess.ID, func(t *live.Session) { t.Stopping = "" })
	patience, cancel := context.WithTimeout(ctx, s.stopPatience)
	defer cancel()
	failure := s.askToEnd(patience, adapter, sess.ID, turnID, idle)
	if errors.Is(failure, runtime.ErrNoActiveTurn) || errors.Is(failure, runtime.ErrThreadNotFound) {
		return session.ErrNoActiveTurn // it ended by itself
	}
	if err := s.recordStop(ctx, sess.ID, turnID); err != nil {
		return err
	}
	select {
	case <-idle:
	case <-patience.Done():
		if err := s.endTurnsProcess(ctx, adapter, sess, turnID, failure); err != nil {
			return err
		}
	}
	return s.options.Journal.Do(ctx, nothing) // store its end first, so that later readers see it
}

// canceled notes that the agent is about to stop a turn, because an approval of it was canceled. Until the turn ends, at most
// for stopPatience, no message joins it: the agent would drop the message with the turn. goesOn ends that.
func (s *Stopper) canceled(sessionID, turnID string) (goesOn func()) {
	s.options.Index.Update(sessionID, func(t *live.Session) { t.Stopping = turnID })
	goesOn = func() {
		s.options.Index.Update(sessionID, func(t *live.Session) {
			if t.Stopping == turnID {
				t.Stopping = ""
			}
		})
	}
	time.AfterFunc(s.stopPatience, goesOn)
	return goesOn
}

// patience returns how long a message waits for the end of a turn that is being stopped; nil where none is.
func (s *Stopper) patience(sessionID string) <-chan time.Time {
	if !s.options.Index.IsStopping(sessionID) {
		return nil
	}
	return time.After(s.stopPatience)
}

// stoppedAlready reports whether another request stopped an ended turn just before.
func (s *Stopper) stoppedAlready(ctx context.Context, sessionID, turnID string) error {
	if err := s.options.Journal.Do(ctx, nothing); err != nil { // store its end first
		return err
	}
	turn, known, err := store.ReadTurn(ctx, s.options.DB.Read(), sessionID, turnID)
	if err == nil && (!known || turn.Status != runtime.TurnInterrupted) {
		err = session.ErrNoActiveTurn
	}
	return err
}

// askToEnd asks a runtime to end a turn, until ctx ends or the turn has ended. A runtime may not know a turn yet that
// it has just accepted. askToEnd repeats the request while the turn runs here.
func (s *Stopper) askToEnd(ctx context.Context, adapter runtime.Adapter, threadID, turnID string, idle <-chan struct{}) error {
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
		err := adapter.Threads().InterruptTurn(ctx, threadID, turnID)
		none := errors.Is(err, runtime.ErrNoActiveTurn)
		if err != nil && !none && isOver(idle) {
			return nil // the answer no longer matters
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

// endTurnsProcess ends the process of a turn that does not end otherwise, unless it serves other running sessions.
func (s *Stopper) endTurnsProcess(ctx context.Context, adapter runtime.Adapter, sess session.Session, turnID string, failure error) error {
	left := &session.NotStoppedError{SessionID: sess.ID, TurnID: turnID, Runtime: sess.Runtime, Cause: failure}
	if runtime.CapabilitiesOf(adapter).ProcessPer != runtime.ProcessPerThread {
		left.Others = max(s.options.Index.Limits.Load(sess.Runtime).Turns-1, 0)
	}
	ender, can := adapter.(runtime.Ender)
	if left.Others > 0 || !can {
		return left
	}
	s.options.Logger.Warn().AnErr("answer", failure).Str("session", sess.ID).Str("turn", turnID).Str("runtime", sess.Runtime).
		Msg("a turn did not end when it was stopped; ending its process")
	idle := s.options.Index.WhenIdle(sess.ID)
	ending, cancel := context.WithTimeout(ctx, endPatience)
	defer cancel()
	if err := ender.EndProcess(ending, sess.ID, "a turn did not end when it was stopped"); err != nil {
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
