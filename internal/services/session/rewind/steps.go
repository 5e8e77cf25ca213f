package rewind

import (
	"context"
	"errors"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/workingtree"
)

// Settle finishes the rewinds of a locked session that a killed server, or a runtime that was down, left open.
func (r *Rewinds) Settle(ctx context.Context, sess session.Session) error {
	open, err := r.open(ctx, sess.ID)
	for _, row := range open {
		if err == nil {
			_, err = r.finish(context.WithoutCancel(ctx), sess, row)
		}
	}
	return err
}

// SettleAll finishes what is open in sessions of a runtime.
func (r *Rewinds) SettleAll(ctx context.Context, runtimeName string) error {
	open, err := r.openOf(ctx, runtimeName)
	if err != nil {
		return err
	}
	for _, id := range open {
		release, err := r.options.Locks.Acquire(ctx, id)
		if err != nil {
			return err
		}
		sess, _, err := r.options.Owned(ctx, id)
		if err == nil {
			err = r.Settle(ctx, sess)
		}
		release()
		if err != nil && !session.Absent(err) {
			return err
		}
	}
	return nil
}

// finish does the remaining steps of a rewind, and returns it as it is then. Each step may be repeated. Order: first the
// files, because a person may have changed them; a conversation is rewound only if they were.
func (r *Rewinds) finish(ctx context.Context, sess session.Session, row row) (_ row, err error) {
	if row.Step == stepFiles {
		r.options.Step("before files")
		if row.Step, err = r.files(ctx, row); err != nil {
			return row, err
		}
		r.options.Step("after files")
		if err := r.storeStep(ctx, row, nil); err != nil {
			return row, err
		}
	}
	if row.Step != stepConversation {
		return row, nil
	}
	r.options.Step("before conversation")
	if row.Conversation, err = r.conversation(ctx, sess, row); err != nil {
		return row, err
	}
	r.options.Step("after conversation")
	row.Step = stepDone
	err = r.storeStep(ctx, row, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return r.transcript(ctx, tx, row)
	})
	r.options.Step("done")
	return row, err
}

// files changes the files, and returns the next step.
func (r *Rewinds) files(ctx context.Context, row row) (string, error) {
	if row.TreeNow == "" {
		return stepConversation, nil
	}
	if r.options.Trees == nil || row.NodeID != r.options.NodeID {
		return stepConflict, nil // the states of the folder were on a node that died
	}
	err := r.options.Trees.Restore(ctx, row.states())
	var conflict *workingtree.ConflictError
	var unavailable *workingtree.UnavailableError
	if errors.As(err, &conflict) || errors.As(err, &unavailable) {
		r.options.Logger.Warn().Err(err).Str("session", row.SessionID).Str("rewind", row.ID).Msg("a rewind was given up")
		return stepConflict, nil
	}
	return stepConversation, err
}

// conversation makes the runtime forget the turns, or know them again, and returns how.
func (r *Rewinds) conversation(ctx context.Context, sess session.Session, row row) (string, error) {
	if len(row.Turns) == 0 {
		return Kept, nil
	}
	_, adapter, err := r.options.Owned(ctx, sess.ID)
	if err != nil {
		return "", err
	}
	replays, err := store.NeedsReplay(ctx, r.options.DB.Read(), sess.ID)
	if err != nil || replays {
		return Retold, err // the runtime knows nothing of it
	}
	if back, ok := runtime.Has[runtime.Reverter](adapter, runtime.OpRevert); ok && row.Undoes == "" {
		err := r.rollBack(ctx, sess, adapter, back, row.Turns)
		var refused *runtime.Error
		if err == nil || !errors.As(err, &refused) && !errors.Is(err, runtime.ErrThreadNotFound) {
			return RolledBack, err
		}
		r.options.Logger.Warn().Err(err).Str("session", sess.ID).Msg("the runtime refuses to roll back; the conversation begins anew")
	}
	if !runtime.CapabilitiesOf(adapter).Reconstruct {
		return Kept, nil
	}
	return Retold, forget(ctx, sess, adapter)
}

// rollBack takes back the turns of a rewind that are the last ones of the runtime.
func (r *Rewinds) rollBack(ctx context.Context, sess session.Session, adapter runtime.Adapter, back runtime.Reverter,
	turns []string) error {
	if err := r.options.SettleRollback(ctx, sess, false); err != nil {
		return err
	}
	last, err := back.LastTurns(ctx, sess.ID, len(turns)+1)
	if errors.Is(err, runtime.ErrThreadNotFound) {
		if _, err = adapter.Threads().ResumeThread(ctx, runtime.ResumeThread{ThreadID: sess.ID, NativeID: sess.RuntimeSessionID}); err == nil {
			last, err = back.LastTurns(ctx, sess.ID, len(turns)+1)
		}
	}
	if err != nil {
		return err
	}
	count := 0
	for count < len(last) && slices.Contains(turns, last[count].ID) {
		count++
	}
	if count == 0 {
		return nil // the runtime knows none of them, or no longer
	}
	return r.options.RollBack(ctx, sess, adapter, count)
}

// forget removes a conversation from its runtime. The next message sends it again.
func forget(ctx context.Context, sess session.Session, adapter runtime.Adapter) error {
	if archiver, ok := runtime.Has[runtime.Archiver](adapter, runtime.OpArchive); ok {
		_, err := archiver.DeleteThread(ctx, sess.ID)
		return err
	}
	if forgetter, ok := adapter.(runtime.Forgetter); ok {
		_, err := forgetter.ForgetThread(ctx, runtime.ResumeThread{ThreadID: sess.ID, NativeID: sess.RuntimeSessionID})
		return err
	}
	return nil
}

// transcript takes the turns of a rewind out of the transcript or puts them back, and returns the events.
func (r *Rewinds) transcript(ctx context.Context, tx database.Tx, row row) ([]journal.Event, error) {
	at := r.options.Now()
	events := []journal.Event{row.event(at)}
	if row.Conversation == Kept {
		return events, nil
	}
	if row.Undoes != "" {
		return events, errors.Join(r.entries.BringBack(ctx, tx, row.SessionID, row.Turns), store.TouchSession(ctx, tx, row.SessionID, at))
	}
	gone, err := r.entries.RolledBack(ctx, tx, row.SessionID)
	if err != nil {
		return nil, err
	}
	left := slices.DeleteFunc(slices.Clone(row.Turns), func(turn string) bool { return gone[turn] })
	if len(left) == 0 {
		return events, nil
	}
	events = append(events, session.RolledBack(row.SessionID, left, at, false))
	return events, errors.Join(r.entries.RollBack(ctx, tx, row.SessionID, left, at), store.TouchSession(ctx, tx, row.SessionID, at))
}
