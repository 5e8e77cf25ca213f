package manager

import (
	"context"
	"errors"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

const (
	// interruptGrace limits how long a deletion or an archiving waits for the interrupted turn to end. Clients receive
	// that end first.
	interruptGrace = 2 * time.Second
	// workPatience limits how long they wait for the session's background work to end.
	workPatience = 3 * time.Second
)

// endWork ends everything that runs in a session before its deletion or archiving: its turn, its background work and
// its dedicated process. It only logs failures, which do not stop the deletion.
func (s *Stopper) endWork(ctx context.Context, adapter runtime.Adapter, session session.Session) {
	s.options.LoadView(session.Runtime, session.ID)
	s.silence.begin(session.ID, s.options.Now()+quietFor)
	s.interruptFirst(ctx, adapter, session)
	if ctx.Err() != nil {
		return
	}
	closes, err := s.endProcesses(ctx, adapter, session)
	if err == nil && closes {
		closing, cancel := context.WithTimeout(ctx, endPatience)
		defer cancel()
		err = adapter.Threads().CloseThread(closing, session.ID)
	}
	if err != nil && !errors.Is(err, runtime.ErrUnavailable) && !errors.Is(err, runtime.ErrThreadNotFound) {
		s.options.Logger.Warn().Err(err).Str("session", session.ID).Str("runtime", session.Runtime).
			Msg("background work of an archived session could not be stopped")
	}
}

// endProcesses ends the process of a session, or only its background work if the process serves other sessions. With
// closes, the runtime also unloads the conversation: otherwise the ended work could start a turn.
func (s *Stopper) endProcesses(ctx context.Context, adapter runtime.Adapter, session session.Session) (closes bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, workPatience)
	defer cancel()
	if runtime.CapabilitiesOf(adapter).ProcessPer != runtime.ProcessPerThread {
		ended, err := s.options.Monitor.EndAllBackground(ctx, session.ID)
		return len(ended) > 0, err
	}
	return true, endOwnProcess(ctx, adapter, session.ID)
}

// endOwnProcess ends the process of a session if its runtime has one process per session.
func endOwnProcess(ctx context.Context, adapter runtime.Adapter, sessionID string) error {
	ender, can := adapter.(runtime.Ender)
	if !can || runtime.CapabilitiesOf(adapter).ProcessPer != runtime.ProcessPerThread {
		return nil
	}
	return ender.EndProcess(ctx, sessionID, "its session was archived")
}

// interruptFirst ends the running turn, if any, and waits briefly for its end. A failure does not stop the deletion or
// archiving.
func (s *Stopper) interruptFirst(ctx context.Context, adapter runtime.Adapter, session session.Session) {
	active := s.options.Index.ActiveTurn(session.ID)
	if active == "" {
		return
	}
	idle := s.options.Index.WhenIdle(session.ID)
	asking, cancel := context.WithTimeout(ctx, interruptGrace)
	defer cancel()
	err := adapter.Threads().InterruptTurn(asking, session.ID, active)
	switch {
	case errors.Is(err, runtime.ErrNoActiveTurn), errors.Is(err, runtime.ErrThreadNotFound):
		return
	case err != nil:
		s.options.Logger.Warn().Err(err).Str("session", session.ID).Str("turn", active).
			Msg("turn could not be interrupted before its session is archived")
		return
	}
	select {
	case <-idle:
	case <-asking.Done():
	}
}

// holdQueued marks the queued messages of a session as held, with a reason.
func (s *Stopper) holdQueued(ctx context.Context, tx database.Tx, sessionID, why string) ([]journal.Event, error) {
	waiting, err := store.ReadQueued(ctx, tx, `session_id = $1`, database.EncodeText(sessionID))
	if err != nil {
		return nil, err
	}
	var events []journal.Event
	for _, one := range waiting {
		if one.State != session.QueuedReady {
			continue
		}
		held, err := s.options.Enqueue(ctx, tx, one, session.QueuedHeld, "", why)
		if err != nil {
			return nil, err
		}
		events = append(events, held...)
	}
	return events, nil
}
