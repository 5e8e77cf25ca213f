package manager

import (
	"context"
	"time"
)

// callingWait bounds how long a call waits for the turn it belongs to.
const callingWait = 10 * time.Second

// ActiveTurn is the turn that runs in a session as far as this node knows, "" when none does.
func (s *Service) ActiveTurn(sessionID string) string { return s.index.ActiveTurn(sessionID) }

// CallingTurn is ActiveTurn for a call that a runtime makes: the call may come before the runtime has told of the turn,
// so while a message to the session is on its way, what becomes of that is waited for, at most callingWait.
func (s *Service) CallingTurn(ctx context.Context, sessionID string) string {
	if turn := s.ActiveTurn(sessionID); turn != "" {
		return turn
	}
	waiting, cancel := context.WithTimeout(ctx, callingWait)
	defer cancel()
	if release, err := s.locks.Acquire(waiting, sessionID); err == nil {
		release()
	}
	return s.ActiveTurn(sessionID)
}
