package manager

import (
	"context"
	"errors"
	"slices"
	"time"

	"harness/internal/runtime"
	"harness/internal/services/session"
)

const (
	// restartPatience is how long a message waits for the process that follows one that is gone.
	restartPatience = 10 * time.Second
	// restartPause is between two looks for it.
	restartPause = 100 * time.Millisecond
)

// beginTurn has a runtime begin a turn with a message, or steer it into the running one. When the process is gone that the
// message was for, and no turn began, the process that follows gets it. runtime.ErrProcessGone when none does in time.
func (s *Service) beginTurn(ctx context.Context, adapter runtime.Adapter, session session.Session, in runtime.StartTurn) (
	runtime.StartedTurn, error) {
	before, _ := s.view.get(session.ID)
	waiting, cancel := context.WithTimeout(ctx, s.restartPatience)
	defer cancel()
	for {
		generation, _ := s.view.liveGeneration(session.Runtime, session.ID)
		started, err := adapter.StartTurn(ctx, in)
		if !errors.Is(err, runtime.ErrProcessGone) || !s.awaitExit(waiting, session, generation) {
			return started, err
		}
		now, _ := s.view.get(session.ID)
		if turnID := now.begunAfter(before); turnID != "" {
			return runtime.StartedTurn{TurnID: turnID}, nil // it ended with the process
		}
		in.ActiveTurnID = now.activeTurn
	}
}

// awaitExit waits until all is known that a process has said, and a moment more. False when that takes too long.
func (s *Service) awaitExit(ctx context.Context, session session.Session, generation string) bool {
	for {
		select {
		case <-time.After(restartPause):
		case <-ctx.Done():
			return false
		}
		if live, down := s.view.liveGeneration(session.Runtime, session.ID); down || live != generation || live == "" {
			return true
		}
	}
}

// begunAfter is a turn that began after another look at the thread, "" for none.
func (t thread) begunAfter(before thread) string {
	known := func(turnID string) bool {
		return turnID == "" || turnID == before.activeTurn || slices.Contains(before.finished, turnID)
	}
	for _, turnID := range append(slices.Clone(t.finished), t.activeTurn) {
		if !known(turnID) {
			return turnID
		}
	}
	return ""
}
