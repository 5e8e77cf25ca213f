package reading

import (
	"cmp"
	"context"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// Turn reads the state of a turn; it returns false for an unknown turn.
func (r *Reader) Turn(ctx context.Context, sessionID, turnID string) (session.TurnState, bool, error) {
	turn, known, err := store.ReadTurn(ctx, r.db.Read(), sessionID, turnID)
	if err != nil || !known {
		return session.TurnState{}, false, err
	}
	kind, err := r.FailureKind(ctx, turn)
	return session.TurnState{Status: turn.Status, Error: turn.Error, Kind: kind, Native: turn.Native}, true, err
}

// TurnEntries reads the stored entries of one turn in reading order, with texts that are still growing. Its cost, like
// that of Turn, does not depend on the number of turns. Errors are *DeletedError and ErrNotFound.
func (r *Reader) TurnEntries(ctx context.Context, sessionID, turnID string) (entries []transcript.Entry, err error) {
	return entries, r.db.Snapshot(ctx, func(q database.Querier) error {
		if _, err := store.IsSystemOwned(ctx, q, sessionID); err != nil {
			return err
		}
		if entries, err = r.entries.ListTurn(ctx, q, sessionID, turnID); err != nil {
			return err
		}
		return r.ShowTexts(ctx, q, sessionID, entries)
	})
}

// FailureKind returns the failure of a stored turn (runtime.TurnCompleted.Kind), nil if it did not fail or the kind is
// unknown. It depends only on stored data, so the result is the same after a restart.
func (r *Reader) FailureKind(ctx context.Context, turn store.Turn) (error, error) {
	if turn.Status != runtime.TurnFailed {
		return nil, nil
	}
	described := wire.ReadTurn(turn.Native)
	described.Error = cmp.Or(described.Error, turn.Error)
	sess, err := r.Stored(ctx, turn.SessionID)
	if session.Absent(err) {
		return described.Kind, nil
	}
	if err != nil {
		return nil, err
	}
	adapter, err := r.runtimes.Adapter(sess.Runtime)
	if err != nil {
		return described.Kind, nil // an unconfigured runtime adds nothing
	}
	if reader, known := adapter.(runtime.FailureReader); known {
		return reader.FailureKind(described), nil
	}
	return described.Kind, nil
}
