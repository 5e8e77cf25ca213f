package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
)

// releaseToOwner ends this node's runtime work for a session that another node has taken over.
func (s *Service) releaseToOwner(ctx context.Context, session session.Session, turnID string) {
	s.index.Update(session.ID, func(t *live.Session) {
		t.SetIdle()
		t.Epoch = live.NotOwned
	})
	adapter, err := s.Registry.Adapter(session.Runtime)
	if err == nil && turnID != "" {
		err = adapter.Threads().InterruptTurn(ctx, session.ID, turnID)
		if errors.Is(err, runtime.ErrNoActiveTurn) || errors.Is(err, runtime.ErrThreadNotFound) {
			err = nil
		}
	}
	if err == nil {
		err = adapter.Threads().CloseThread(ctx, session.ID)
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn().Err(err).Str("session", session.ID).Str("owner", session.NodeID).
			Msg("session taken over by another node; output of the local runtime is ignored")
	}
}

// eventNodeEnded records that another node was declared dead; clients receive no frame for it.
const eventNodeEnded = "node.ended"

// EndNode ends the open state of a dead node, in one unit with claim, which may refuse. It interrupts the node's
// turns, expires its requests and declares its runtime processes dead. The node keeps its sessions: their
// conversations are in files on that machine.
func (s *Service) EndNode(ctx context.Context, node string, claim func(ctx context.Context, tx database.Tx) error) error {
	reason := fmt.Sprintf("The server that ran this turn (node %s) did not answer for too long.", node)
	return s.journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if err := claim(ctx, tx); err != nil {
			return nil, err
		}
		at := s.now()
		events, err := s.sweep(ctx, tx, node, func(string) bool { return true }, reason, at)
		if err != nil {
			return nil, err
		}
		_, err = tx.ExecContext(ctx, `update runtime_spools set ended = 1, updated_at = $2 where node_id = $1 and ended = 0`,
			node, at)
		if err != nil {
			return nil, fmt.Errorf("note the end of the runtimes of node %s: %w", node, err)
		}
		return append(events, journal.Event{Type: eventNodeEnded, Time: at, Source: session.EventSource, Payload: encode(struct {
			NodeID string `json:"nodeId"`
			By     string `json:"by"`
		}{node, s.opts.NodeID})}), nil
	})
}

// toStore queues the storage of state that a runtime's signal changed: its memory, and at the end of a turn the
// folder. The state of the folder is read before a client learns of the end.
func (s *Service) toStore(signal runtime.Signal) {
	if s.opts.Trees != nil {
		switch change := signal.Change.(type) {
		case runtime.TurnCompleted:
			s.opts.Trees.Ended(signal.ThreadID, change.TurnID)
		case runtime.ItemChanged:
			if change.Done && mayWrite(change.Item.Type) {
				s.opts.Trees.Wrote(signal.ThreadID, change.TurnID)
			}
		}
	}
	if !s.opts.Movable {
		return
	}
	switch change := signal.Change.(type) {
	case runtime.TurnCompleted:
		s.snapshots.Want(signal.ThreadID, change.TurnID)
		if s.opts.Folders != nil {
			s.workspaces.Want(signal.ThreadID, change.TurnID)
		}
	case runtime.ItemChanged:
		if change.Done {
			s.snapshots.Want(signal.ThreadID, "")
		}
	}
}

// mayWrite reports whether an item of a type may have changed files.
func mayWrite(itemType string) bool {
	switch itemType {
	case wire.ItemCommand, wire.ItemFileChange, wire.ItemToolCall, wire.ItemClientTool:
		return true
	}
	return false
}

// owned finds a session of this node and its runtime. Errors are those of Lookup, *NotOwnerError, and
// runtime.ErrUnavailable.
func (s *Service) owned(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error) {
	sess, err := s.Conversations.adopt(ctx, sessionID)
	if err == nil {
		err = s.Ownership.CheckOwner(sess)
	}
	if err != nil {
		return session.Session{}, nil, err
	}
	adapter, err := s.Registry.Adapter(sess.Runtime)
	return sess, adapter, err
}

// movedWorkspaces restores the workspaces of sessions that this node takes over.
type movedWorkspaces struct{ *Service }

// Obtain implements takeover.Workspaces.
func (s movedWorkspaces) Obtain(ctx context.Context, sess session.Session, kept store.Snapshot) (from string, release func(), err error) {
	if s.opts.Folders != nil {
		// A canceled caller does no harm: the next attempt finds the folder.
		if release, err = s.locks.Acquire(ctx, "folder "+sess.Cwd); err != nil {
			return "", nil, err
		}
		if from, err = s.FolderKeeper.restoreWorkspace(context.WithoutCancel(ctx), sess); err != nil {
			release()
			return "", nil, err
		}
		return from, release, nil
	}
	folder := cmp.Or(sess.Cwd, s.opts.WorkspaceRoot)
	found, err := workspace.ReadMarker(folder)
	if err != nil {
		return "", nil, err
	}
	if found == "" || found != kept.Workspace {
		return "", nil, &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: false,
			Reason: fmt.Sprintf("its folder %s is not the same one here (share it between the nodes, at the same path)", folder)}
	}
	return "", func() {}, nil
}

// Restored implements takeover.Workspaces.
func (s movedWorkspaces) Restored(ctx context.Context, tx database.Tx, sess session.Session, from string) ([]journal.Event, error) {
	return s.FolderKeeper.workspaceMoved(ctx, tx, sess, from)
}
