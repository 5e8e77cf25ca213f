package rollback

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// RollBack takes back the last turns of a session, in its runtime and its transcript, and returns the runtime's
// answer. Reads then skip everything that belongs to those turns; the journal keeps it. Errors are
// *runtime.UnsupportedError, the runtime's refusals, *runtime.TooFewTurnsError, *NotOwnerError, and those of Lookup.
//
// The turns to take back are stored before the runtime is called. If the server or the runtime dies during the call,
// the runtime's history shows the outcome (SettleRollback).
func (r *Rollbacks) RollBack(ctx context.Context, sessionID string, numTurns int) (json.RawMessage, error) {
	if err := r.options.Journal.AwaitWrites(ctx); err != nil {
		return nil, err // before the runtime is sent anything
	}
	release, err := r.options.Locks.Acquire(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	defer release()
	session, adapter, err := r.options.Owned(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	back, err := runtime.As[runtime.Reverter](adapter, runtime.OpRevert)
	if err != nil {
		return nil, err
	}
	// A caller that disconnects must not leave the rollback half done.
	ctx = context.WithoutCancel(ctx)
	if err := r.SettleRollback(ctx, session, false); err != nil {
		return nil, err
	}
	return r.rollBack(ctx, session, adapter, back, numTurns)
}

// RollBackLocked is RollBack of a session that the caller has locked and settled.
func (r *Rollbacks) RollBackLocked(ctx context.Context, session session.Session, adapter runtime.Adapter, numTurns int) error {
	back, err := runtime.As[runtime.Reverter](adapter, runtime.OpRevert)
	if err != nil {
		return err
	}
	_, err = r.rollBack(ctx, session, adapter, back, numTurns)
	return err
}

func (r *Rollbacks) rollBack(ctx context.Context, session session.Session, adapter runtime.Adapter, back runtime.Reverter, numTurns int) (
	json.RawMessage, error) {
	threadID := session.ID
	var last []runtime.Turn
	err := Loaded(ctx, adapter, session, func() (err error) {
		last, err = back.LastTurns(ctx, threadID, numTurns)
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := r.openRollback(ctx, threadID, last); err != nil {
		return nil, err
	}
	var done runtime.RolledBack
	err = Loaded(ctx, adapter, session, func() (err error) {
		done, err = back.RollBack(ctx, threadID, numTurns, last)
		return err
	})
	var refused *runtime.Error
	var tooFew *runtime.TooFewTurnsError
	switch {
	case err == nil:
		return done.Result, r.rolledBack(ctx, threadID, done.Turns)
	case errors.As(err, &refused), errors.As(err, &tooFew):
		return nil, errors.Join(err, r.rolledBack(ctx, threadID, nil))
	}
	r.options.Refetch(session.Runtime) // Refetch asks the runtime for the outcome
	return nil, err
}

// Loaded makes a call about a conversation. A restarted runtime must load the conversation first; if loading fails,
// the error of the first call says more.
func Loaded(ctx context.Context, adapter runtime.Adapter, session session.Session, call func() error) error {
	err := call()
	if !errors.Is(err, runtime.ErrThreadNotFound) {
		return err
	}
	if _, resumeErr := adapter.Threads().ResumeThread(ctx,
		runtime.ResumeThread{ThreadID: session.ID, NativeID: session.RuntimeSessionID}); resumeErr != nil {
		return err
	}
	return call()
}

// openRollback stores the turns that are about to be taken back.
func (r *Rollbacks) openRollback(ctx context.Context, sessionID string, last []runtime.Turn) error {
	ids := make([]string, len(last))
	for i, turn := range last {
		ids[i] = turn.ID
	}
	return r.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		_, err := tx.ExecContext(ctx, `insert into open_rollbacks (session_id, turns, node_id) values ($1, $2, $3)
			on conflict (session_id) do update set turns = excluded.turns, node_id = excluded.node_id`,
			database.EncodeText(sessionID), string(javascript.MustEncode(ids)), r.options.NodeID)
		if err != nil {
			return nil, fmt.Errorf("note the rollback of session %s: %w", sessionID, err)
		}
		return nil, nil
	})
}

// rolledBack stores which turns the runtime took back. It removes them from the transcript, with everything else
// stored under them, and notifies clients. An empty list means that the runtime took back none.
func (r *Rollbacks) rolledBack(ctx context.Context, sessionID string, turns []string) error {
	at := r.options.Now()
	return r.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := tx.ExecContext(ctx, `delete from open_rollbacks where session_id = $1`,
			database.EncodeText(sessionID)); err != nil {
			return nil, fmt.Errorf("end the rollback of session %s: %w", sessionID, err)
		}
		if len(turns) == 0 {
			return nil, nil
		}
		systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
		if session.Absent(err) {
			return nil, nil // deleted since, with all its turns
		}
		if err != nil {
			return nil, err
		}
		gone, err := r.withForgotten(ctx, tx, sessionID, turns)
		if err != nil {
			return nil, err
		}
		if err := errors.Join(r.entries.RollBack(ctx, tx, sessionID, gone, at), store.TouchSession(ctx, tx, sessionID, at)); err != nil {
			return nil, err
		}
		return []journal.Event{session.RolledBack(sessionID, gone, at, systemOwned)}, nil
	})
}

// withForgotten takes the turns that were taken back, newest first, and returns them in the order they ran. It adds
// later turns that are missing from the runtime's history, such as failed ones.
func (r *Rollbacks) withForgotten(ctx context.Context, q database.Querier, sessionID string, turns []string) (
	[]string, error) {
	gone := slices.Clone(turns)
	slices.Reverse(gone)
	since, err := r.entries.TurnsSince(ctx, q, sessionID, gone)
	if err != nil {
		return nil, err
	}
	stored, err := store.ReadTurns(ctx, q, sessionID)
	if err != nil {
		return nil, err
	}
	for _, turn := range since {
		ran := slices.ContainsFunc(stored, func(row store.Turn) bool { return row.TurnID == turn })
		if ran && !slices.Contains(gone, turn) {
			gone = append(gone, turn)
		}
	}
	return gone, nil
}

// SettleRollback determines the outcome of a rollback from the runtime's history, if none was stored. The caller holds
// the session's lock. It drops a rollback that did not happen, unless the call may still be in progress.
func (r *Rollbacks) SettleRollback(ctx context.Context, session session.Session, onItsWay bool) error {
	var noted string
	err := r.options.DB.Read().QueryRowContext(ctx, `select turns from open_rollbacks where session_id = $1`,
		database.EncodeText(session.ID)).Scan(&noted)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the open rollback of session %s: %w", session.ID, err)
	}
	var turns []string
	if err := json.Unmarshal([]byte(noted), &turns); err != nil {
		return fmt.Errorf("read the open rollback of session %s: %w", session.ID, err)
	}
	adapter, err := r.options.Runtimes.Adapter(session.Runtime)
	if err != nil {
		return err
	}
	back, ok := runtime.Has[runtime.Reverter](adapter, runtime.OpRevert)
	if !ok || len(turns) == 0 {
		return r.rolledBack(ctx, session.ID, nil)
	}
	var last []runtime.Turn
	err = Loaded(ctx, adapter, session, func() (err error) {
		last, err = back.LastTurns(ctx, session.ID, 1)
		return err
	})
	if errors.Is(err, runtime.ErrThreadNotFound) {
		return r.rolledBack(ctx, session.ID, nil) // the runtime has lost the conversation
	}
	if err != nil {
		return fmt.Errorf("find out what became of a rollback: %w", err)
	}
	if len(last) > 0 && last[0].ID == turns[0] {
		if onItsWay {
			return nil
		}
		turns = nil
	}
	return r.rolledBack(ctx, session.ID, turns)
}

// SettleRollbacks settles the rollbacks of a runtime that this node requested.
func (r *Rollbacks) SettleRollbacks(ctx context.Context, runtimeName string) error {
	ids, err := r.OpenRollbacks(ctx, runtimeName)
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := func() error {
			release, err := r.options.Locks.Acquire(ctx, id)
			if err != nil {
				return err
			}
			defer release()
			sess, err := r.options.Reader.Stored(ctx, id)
			if session.Absent(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return r.SettleRollback(ctx, sess, true)
		}()
		if err != nil {
			return err
		}
	}
	return nil
}

// OpenRollbacks lists the sessions of a runtime with a rollback that this node requested and that has no stored
// outcome.
func (r *Rollbacks) OpenRollbacks(ctx context.Context, runtimeName string) ([]string, error) {
	return database.ReadTexts(ctx, r.options.DB.Read(), "list open rollbacks",
		`select o.session_id from open_rollbacks o join sessions s on s.id = o.session_id
		where o.node_id = $1 and s.runtime = $2 order by o.session_id`, r.options.NodeID, runtimeName)
}
