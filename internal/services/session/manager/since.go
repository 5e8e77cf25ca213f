package manager

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// recaller is an adapter whose processes outlive servers, with the calls these made. *codex.Codex implements it.
type recaller interface {
	// Recalled reports on a call of an earlier server in a conversation. It may still be answered (open), or was given
	// up while its process continues (lost).
	Recalled(threadID string) (open, lost bool)
}

// TurnMark reads the turns of a session. A sender that may crash before it learns of the turn stores it for TurnSince.
func (f *turnFinder) TurnMark(ctx context.Context, sessionID string) (session.TurnMark, error) {
	return store.TurnMark(ctx, f.db.Read(), sessionID)
}

// TurnSince is the turn that began after a mark, "" when none did and none will from earlier messages. ErrTurnUnsettled
// while this is open, ErrTurnUnknown when it stays unknown.
func (f *turnFinder) TurnSince(ctx context.Context, sessionID string, mark session.TurnMark) (turnID string, err error) {
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
	// Its answer follows all earlier output of the runtime, and so does an empty unit in the journal.
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
		err = fmt.Errorf("%w: %s did not answer, and goes on running", session.ErrTurnUnknown, sess.Runtime)
	}
	return turnID, err
}

// turnAfter is the one stored turn after a mark, "" for none. ErrTurnUnknown when there are several.
func (f *turnFinder) turnAfter(ctx context.Context, sessionID string, mark session.TurnMark) (string, error) {
	now, err := f.TurnMark(ctx, sessionID)
	switch {
	case err != nil || now == mark:
		return "", err
	case now.Turns == mark.Turns+1 && now.Newest != mark.Newest:
		return now.Newest, nil
	}
	return "", fmt.Errorf("%w: the session had %d turns and has %d", session.ErrTurnUnknown, mark.Turns, now.Turns)
}
