package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// namingWait limits how long a call or a stop waits for the turn of a message that is being sent.
const namingWait = 10 * time.Second

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
// to the session is being sent, it waits for the result, at most namingWait.
func (f *TurnFinder) CallingTurn(ctx context.Context, sessionID string) string {
	awaitTurn(ctx, f.index, f.locks, sessionID)
	return f.ActiveTurn(sessionID)
}

// awaitTurn waits until a turn runs in a session or no message to it is being sent, at most namingWait. The caller does
// not hold the session.
func awaitTurn(ctx context.Context, index *live.Index, locks *keylock.Locks, sessionID string) {
	if index.ActiveTurn(sessionID) != "" {
		return
	}
	naming, cancel := context.WithTimeout(ctx, namingWait)
	defer cancel()
	if release, err := locks.Acquire(naming, sessionID); err == nil {
		release()
	}
}

// recaller is an adapter whose processes outlive servers, together with the calls of those servers. *codex.Codex
// implements it.
type recaller interface {
	// Recalled reports on an earlier server's call in a conversation. The call may still be answered (open), or it was
	// dropped while its process continues (lost).
	Recalled(threadID string) (open, lost bool)
}

// TurnMark reads the turns of a session. A sender that may crash before it receives the turn's id stores the mark for
// TurnSince.
func (f *TurnFinder) TurnMark(ctx context.Context, sessionID string) (session.TurnMark, error) {
	return store.TurnMark(ctx, f.db.Read(), sessionID)
}

// TurnSince returns the turn that started after a mark. "" means that none did, and that earlier messages will start
// none. It returns ErrTurnUnsettled while this is open, and ErrTurnUnknown if it will stay unknown.
func (f *TurnFinder) TurnSince(ctx context.Context, sessionID string, mark session.TurnMark) (turnID string, err error) {
	sess, adapter, err := f.owned(ctx, sessionID)
	if err != nil {
		return "", err
	}
	if turnID, err = f.turnAfter(ctx, sessionID, mark); turnID != "" || err != nil {
		return turnID, err
	}
	lost := false
	if outliving, ok := adapter.(recaller); ok {
		var open bool
		if open, lost = outliving.Recalled(sess.ID); open {
			return "", session.ErrTurnUnsettled
		}
	}
	// The runtime answers this only after all its earlier output; likewise an empty unit follows all queued units.
	if historian, ok := runtime.Has[runtime.History](adapter, runtime.OpHistory); ok {
		_, err = historian.ReadThread(ctx, sess.RuntimeSessionID, false)
	}
	if errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrTimeout) || ctx.Err() != nil {
		return "", errors.Join(session.ErrTurnUnsettled, err, ctx.Err())
	}
	err = f.inOrder(ctx, func() journal.Unit {
		return func(context.Context, database.Tx) ([]journal.Event, error) { return nil, nil }
	})
	if err != nil {
		return "", runtime.WithKind(session.ErrTurnUnsettled, err)
	}
	turnID, err = f.turnAfter(ctx, sessionID, mark)
	if turnID == "" && err == nil && lost {
		err = fmt.Errorf("%w: %s did not respond and keeps running", session.ErrTurnUnknown, sess.Runtime)
	}
	return turnID, err
}

// turnAfter returns the one stored turn after a mark, "" for none. It returns ErrTurnUnknown if there are several.
func (f *TurnFinder) turnAfter(ctx context.Context, sessionID string, mark session.TurnMark) (string, error) {
	now, err := f.TurnMark(ctx, sessionID)
	switch {
	case err != nil || now == mark:
		return "", err
	case now.Turns == mark.Turns+1 && now.Newest != mark.Newest:
		return now.Newest, nil
	}
	return "", fmt.Errorf("%w: the session had %d turns and has %d", session.ErrTurnUnknown, mark.Turns, now.Turns)
}
