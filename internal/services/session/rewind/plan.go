package rewind

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"harness/internal/lib/ids"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/internal/services/workingtree"
)

// Rewind takes a session back to before a turn, or undoes a rewind. Errors are runtime.ErrTurnActive,
// *session.BackgroundError, *SharedError, *NotUndoableError, workingtree.ErrUnknownTurn, *workingtree.ConflictError,
// *workingtree.UnavailableError, and those of Lookup.
//
// A canceled caller does not stop a rewind that has begun.
func (r *Rewinds) Rewind(ctx context.Context, sessionID string, in Request) (Result, error) {
	if err := r.options.Journal.AwaitWrites(ctx); err != nil {
		return Result{}, err
	}
	release, err := r.options.Locks.Acquire(ctx, sessionID)
	if err != nil {
		return Result{}, err
	}
	defer release()
	sess, adapter, err := r.options.Owned(ctx, sessionID)
	if err != nil {
		return Result{}, err
	}
	if err := r.Settle(ctx, sess); err != nil {
		return Result{}, err
	}
	if err := r.checkIdle(ctx, sess); err != nil {
		return Result{}, err
	}
	row, changed, err := r.plan(ctx, sess, in)
	if err != nil {
		return Result{}, err
	}
	if in.DryRun {
		row.Conversation = expected(adapter, row)
		return row.result(changed), nil
	}
	if len(changed) > 0 && !in.Force {
		return Result{}, &workingtree.ConflictError{Paths: changed}
	}
	ctx = context.WithoutCancel(ctx)
	if err := r.begin(ctx, row); err != nil {
		return Result{}, err
	}
	if row, err = r.finish(ctx, sess, row); err != nil {
		return Result{}, err
	}
	if row.Step == stepConflict {
		return Result{}, &workingtree.ConflictError{Paths: changed}
	}
	return row.result(changed), nil
}

// checkIdle returns an error if anything works in the session's folder.
func (r *Rewinds) checkIdle(ctx context.Context, sess session.Session) error {
	if r.options.ActiveTurn(sess) != "" {
		return runtime.ErrTurnActive
	}
	tasks, err := r.options.Background(ctx, sess.ID)
	if err != nil {
		return err
	}
	if len(tasks) > 0 {
		return &session.BackgroundError{SessionID: sess.ID, Tasks: tasks, Wish: "the session cannot be rewound"}
	}
	if sess.Cwd == "" {
		return nil
	}
	others, err := store.SessionsIn(ctx, r.options.DB.Read(), r.options.NodeID, sess.Cwd, sess.ID)
	if err != nil {
		return err
	}
	for _, id := range others {
		running, _, err := store.RunningTurn(ctx, r.options.DB.Read(), id)
		if err != nil {
			return err
		}
		if running != "" {
			return &SharedError{id}
		}
	}
	return nil
}

// plan returns the rewind of a request, and which of its files were changed by someone else.
func (r *Rewinds) plan(ctx context.Context, sess session.Session, in Request) (row row, changed []string, err error) {
	row.ID, row.SessionID, row.NodeID, row.Folder = ids.New(), sess.ID, r.options.NodeID, sess.Cwd
	row.Actor, row.CreatedAt, row.Step, row.Conversation = r.options.Journal.Actor(ctx), r.options.Now(), stepFiles, Kept
	row.TurnID, row.Turns = in.TurnID, []string{}
	if in.Undo != "" {
		return r.planUndo(ctx, row, in.Undo)
	}
	turns, err := r.turnsFrom(ctx, sess.ID, in.TurnID)
	if err != nil {
		return row, nil, err
	}
	if in.Conversation {
		row.Turns = turns
	}
	if !in.Files {
		return row, nil, nil
	}
	if r.options.Trees == nil {
		return row, nil, &workingtree.UnavailableError{Reason: "states of folders are not stored here (HARNESS_CHECKPOINTS=off)"}
	}
	plan, err := r.options.Trees.PlanRewind(ctx, sess.ID, sess.Cwd, in.TurnID)
	row.TreeNow, row.TreeThen, row.Files = plan.Now, plan.Then, len(plan.Files)
	return row, plan.Changed, err
}

// planUndo plans to undo the last rewind of a session.
func (r *Rewinds) planUndo(ctx context.Context, row row, undo string) (_ row, changed []string, err error) {
	last, err := r.last(ctx, row.SessionID)
	if err != nil {
		return row, nil, err
	}
	turns, err := r.orderedTurns(ctx, row.SessionID)
	if err != nil {
		return row, nil, err
	}
	switch {
	case last.ID != undo || last.Undoes != "":
		return row, nil, &NotUndoableError{undo, "it is not the last one of its session"}
	case last.Step != stepDone:
		return row, nil, &NotUndoableError{undo, "it changed nothing"}
	case last.TreeNow != "" && (last.NodeID != r.options.NodeID || r.options.Trees == nil):
		return row, nil, &NotUndoableError{undo, "the states of the folder are not on this server"}
	case len(turns) > 0 && turns[len(turns)-1].StartedAt > last.CreatedAt:
		return row, nil, &NotUndoableError{undo, "another turn began since"}
	}
	row.TurnID, row.Undoes = last.TurnID, last.ID
	if last.Conversation != Kept {
		row.Turns = last.Turns
	}
	if last.TreeNow == "" {
		return row, nil, nil
	}
	plan, err := r.options.Trees.PlanUndo(ctx, row.Folder, last.TreeNow, last.TreeThen)
	row.TreeNow, row.TreeThen, row.Files = plan.Now, plan.Then, len(plan.Files)
	return row, plan.Changed, err
}

// orderedTurns returns the turns of a session in the order in which they began.
func (r *Rewinds) orderedTurns(ctx context.Context, sessionID string) ([]store.Turn, error) {
	turns, err := store.ReadTurns(ctx, r.options.DB.Read(), sessionID)
	slices.SortStableFunc(turns, func(a, b store.Turn) int { return cmp.Compare(a.StartedAt, b.StartedAt) })
	return turns, err
}

// turnsFrom returns the turns of a session from one on that are in its transcript. workingtree.ErrUnknownTurn.
func (r *Rewinds) turnsFrom(ctx context.Context, sessionID, turnID string) ([]string, error) {
	turns, err := r.orderedTurns(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	gone, err := r.entries.RolledBack(ctx, r.options.DB.Read(), sessionID)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(turns, func(turn store.Turn) bool { return turn.TurnID == turnID })
	if at < 0 || gone[turnID] {
		return nil, fmt.Errorf("%w: %s is no turn of the transcript", workingtree.ErrUnknownTurn, turnID)
	}
	var all []string
	for _, turn := range turns[at:] {
		if !gone[turn.TurnID] {
			all = append(all, turn.TurnID)
		}
	}
	return all, nil
}

// expected returns what a rewind would do with the conversation.
func expected(adapter runtime.Adapter, row row) string {
	_, reverts := runtime.Has[runtime.Reverter](adapter, runtime.OpRevert)
	switch {
	case len(row.Turns) == 0:
		return Kept
	case reverts && row.Undoes == "":
		return RolledBack
	case runtime.CapabilitiesOf(adapter).Reconstruct:
		return Retold
	}
	return Kept
}
