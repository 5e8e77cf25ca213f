package manager

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// workerOpener creates the sessions of workers, and the rows of conversations known only from a signal.
type workerOpener struct {
	journal  *journal.Journal
	index    *live.Index
	nodeID   string
	inOrder  func(ctx context.Context, prepare func() journal.Unit) error
	wantRoom func()
	now      func() int64 // ms
}

// expectWorker marks a conversation as a worker's before its first signal, also for the next server. Call abandon if
// the conversation could not be opened. If a runtime chooses the ids of its conversations, it reports the id itself
// (workerOpened).
func (w *workerOpener) expectWorker(ctx context.Context, adapter runtime.Adapter, id string, systemOwned bool) (
	abandon func() error, err error) {
	abandon = func() error { return nil }
	if namer, is := adapter.(runtime.Namer); is && namer.NamesThreads() || !systemOwned {
		return abandon, nil
	}
	if err := w.inOrder(ctx, func() journal.Unit { return w.workerOpened(adapter.Name(), id) }); err != nil {
		return abandon, errStoredLater(err)
	}
	return func() error {
		defer w.index.Forget(id)
		return w.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if _, err := tx.ExecContext(ctx, `delete from sessions where id = $1 and thread = $2`, database.EncodeText(id),
				store.PlaceholderThread); err != nil {
				return nil, fmt.Errorf("remove worker session %s, which could not be opened: %w", id, err)
			}
			return nil, nil
		})
	}, nil
}

// workerOpened records that a conversation is a worker's. Service.order is held.
func (w *workerOpener) workerOpened(runtimeName, id string) journal.Unit {
	if w.index.Put(id, live.Session{Runtime: runtimeName}) {
		w.wantRoom()
	}
	w.index.Update(id, func(t *live.Session) {
		if t.Runtime == runtimeName {
			t.Stored, t.SystemOwned = true, true
		}
	})
	at := w.now()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored, err := store.ReadSession(ctx, tx, id)
		switch {
		case errors.Is(err, session.ErrNotFound):
			return nil, store.InsertPlaceholder(ctx, tx, store.Placeholder{ID: id, Runtime: runtimeName, Node: w.nodeID,
				SystemOwned: true, At: at})
		case session.Absent(err): // deleted since
			return nil, nil
		case err != nil || stored.Runtime != runtimeName || stored.SystemOwned:
			return nil, err
		}
		return nil, store.UpdateSession(ctx, tx, id, `system_owned = 1`)
	}
}

// updateView updates the view for a signal before its event's meta is built. The end of a turn is applied later
// (signalUnit), because the event of the end still belongs to the turn.
func (w *workerOpener) updateView(signal runtime.Signal) {
	inherits := false
	if opened, is := signal.Change.(runtime.ThreadOpened); is && opened.ParentID != "" {
		parent, _ := w.index.Peek(opened.ParentID)
		inherits = parent.SystemOwned
	}
	w.index.Update(signal.ThreadID, func(t *live.Session) {
		t.Undecided = signal.WorkerOpening && (t.Undecided || !t.Stored)
		switch change := signal.Change.(type) {
		case runtime.TurnStarted:
			t.Begin(change.TurnID)
		case runtime.ThreadNamed:
			t.SetTitle(change.Name)
		case runtime.ThreadOpened:
			t.SystemOwned = t.SystemOwned || inherits
		case runtime.TurnRetrying:
			t.Retrying = t.ActiveTurn
		}
	})
}

// ensureRow returns whether the session is system-owned, and creates a row for an unknown one.
func (w *workerOpener) ensureRow(ctx context.Context, tx database.Tx, a arrival) (systemOwned bool, err error) {
	systemOwned, err = store.IsSystemOwned(ctx, tx, a.signal.ThreadID)
	if !errors.Is(err, session.ErrNotFound) {
		return systemOwned, err
	}
	return a.thread.SystemOwned, store.InsertPlaceholder(ctx, tx, store.Placeholder{ID: a.signal.ThreadID, Runtime: a.runtime,
		Node: w.nodeID, SystemOwned: a.thread.SystemOwned, At: a.receivedAt})
}
