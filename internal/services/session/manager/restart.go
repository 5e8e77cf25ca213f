package manager

import (
	"context"
	"errors"
	"time"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

const (
	// restartPatience is how long a message waits for the process that replaces a dead one.
	restartPatience = 10 * time.Second
	// restartPause is the time between two checks for that process.
	restartPause = 100 * time.Millisecond
)

// beginTurn makes a runtime start a turn with a message, or steer it into the running one. If the process died before
// it started a turn, the next process gets the message. It returns runtime.ErrProcessGone if no process starts in
// time.
func (s *Service) beginTurn(ctx context.Context, adapter runtime.Adapter, session session.Session, in runtime.StartTurn) (
	runtime.StartedTurn, error) {
	before, _ := s.index.Get(session.ID)
	waiting, cancel := context.WithTimeout(ctx, s.restartPatience)
	defer cancel()
	for {
		generation, _ := s.index.Generation(session.Runtime, session.ID)
		started, err := adapter.Threads().StartTurn(ctx, in)
		if !errors.Is(err, runtime.ErrProcessGone) || !s.awaitExit(waiting, session, generation) {
			return started, err
		}
		now, _ := s.index.Get(session.ID)
		if turnID := now.TurnSince(before); turnID != "" {
			return runtime.StartedTurn{TurnID: turnID}, nil // it ended with the process
		}
		in.ActiveTurnID = now.ActiveTurn
	}
}

// awaitExit waits until a dead process's output is stored, and briefly after that. It returns false if that takes too
// long.
func (s *Service) awaitExit(ctx context.Context, session session.Session, generation string) bool {
	for {
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
			return false
		}
		if live, down := s.index.Generation(session.Runtime, session.ID); down || live != generation || live == "" {
			return true
		}
	}
}
