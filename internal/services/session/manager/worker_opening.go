package manager

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// expectWorker has what a runtime says of a worker's conversation known as a worker's from the first word on, also by
// the next server. abandon is for a conversation that could not be opened. A runtime that names its conversations
// itself says of each which it is (workerOpened).
func (s *Service) expectWorker(ctx context.Context, adapter runtime.Adapter, id string, systemOwned bool) (
	abandon func() error, err error) {
	abandon = func() error { return nil }
	if namer, is := adapter.(runtime.Namer); is && namer.NamesThreads() || !systemOwned {
		return abandon, nil
	}
	if err := s.inOrder(ctx, func() journal.Unit { return s.workerOpened(adapter.Name(), id) }); err != nil {
		return abandon, held(err)
	}
	return func() error {
		defer s.view.forget(id)
		return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			if _, err := tx.ExecContext(ctx, `delete from sessions where id = $1 and thread = $2`, database.EncodeText(id),
				placeholderThread); err != nil {
				return nil, fmt.Errorf("remove worker session %s, which could not be opened: %w", id, err)
			}
			return nil, nil
		})
	}, nil
}

// workerOpened notes that a conversation is a worker's. Service.order is held.
func (s *Service) workerOpened(runtimeName, id string) journal.Unit {
	if s.view.put(id, thread{runtime: runtimeName}) {
		s.adoption.wantRoom()
	}
	s.view.change(id, func(t *thread) {
		if t.runtime == runtimeName {
			t.known, t.systemOwned = true, true
		}
	})
	at := s.now()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		stored, err := readSession(ctx, tx, id)
		switch {
		case errors.Is(err, session.ErrNotFound):
			return nil, insertPlaceholder(ctx, tx, placeholder{id: id, runtime: runtimeName, node: s.opts.NodeID,
				systemOwned: true, at: at})
		case session.Absent(err): // deleted meanwhile
			return nil, nil
		case err != nil || stored.Runtime != runtimeName || stored.SystemOwned:
			return nil, err
		}
		return nil, updateSession(ctx, tx, id, `system_owned = 1`)
	}
}

// see lets the view know what a signal says before its event's meta is made; a turn's end comes after (signalUnit),
// because the event of the end still belongs to the turn.
func (s *Service) see(signal runtime.Signal) {
	inherits := false
	if opened, is := signal.Change.(runtime.ThreadOpened); is && opened.ParentID != "" {
		parent, _ := s.view.peek(opened.ParentID)
		inherits = parent.systemOwned
	}
	s.view.change(signal.ThreadID, func(t *thread) {
		t.undecided = signal.WorkerOpening && (t.undecided || !t.known)
		switch change := signal.Change.(type) {
		case runtime.TurnStarted:
			t.begin(change.TurnID)
		case runtime.ThreadNamed:
			t.call(change.Name)
		case runtime.ThreadOpened:
			t.systemOwned = t.systemOwned || inherits
		case runtime.TurnRetrying:
			t.retrying = t.activeTurn
		}
	})
}

// ensureRow returns whether the session is system-owned, making a row for one nobody here knows.
func (s *Service) ensureRow(ctx context.Context, tx database.Tx, a arrival) (systemOwned bool, err error) {
	systemOwned, err = presence(ctx, tx, a.signal.ThreadID)
	if !errors.Is(err, session.ErrNotFound) {
		return systemOwned, err
	}
	return a.thread.systemOwned, insertPlaceholder(ctx, tx, placeholder{id: a.signal.ThreadID, runtime: a.runtime,
		node: s.opts.NodeID, systemOwned: a.thread.systemOwned, at: a.receivedAt})
}
