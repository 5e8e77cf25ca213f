package manager

import (
	"context"
	"time"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
)

// callingWait limits how long a call waits for its turn.
const callingWait = 10 * time.Second

// TurnFinder finds the running and the new turns of sessions.
type TurnFinder struct {
	db      *database.DB
	index   *live.Index
	locks   *keylock.Locks
	inOrder func(ctx context.Context, prepare func() journal.Unit) error
	owned   func(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error)
}

// ActiveTurn returns the turn that runs in a session according to this node, "" for none.
func (f *TurnFinder) ActiveTurn(sessionID string) string { return f.index.ActiveTurn(sessionID) }

// CallingTurn is ActiveTurn for a call by a runtime, which may arrive before the signal of its turn. While a message
// to the session is being sent, it waits for the result, at most callingWait.
func (f *TurnFinder) CallingTurn(ctx context.Context, sessionID string) string {
	if turn := f.ActiveTurn(sessionID); turn != "" {
		return turn
	}
	waiting, cancel := context.WithTimeout(ctx, callingWait)
	defer cancel()
	if release, err := f.locks.Acquire(waiting, sessionID); err == nil {
		release()
	}
	return f.ActiveTurn(sessionID)
}
