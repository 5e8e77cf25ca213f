package manager

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/internal/services/session/workspace"
)

// Own is CheckOwner that takes an idle session whose node is not alive, with what its runtime remembers. *PinnedError
// when it cannot go on here, *LeftOpenError while a turn of it may still go on there, *ElsewhereError at a node that takes
// none, for another one that does.
func (s *Service) Own(ctx context.Context, sess session.Session) error {
	err := s.CheckOwner(sess)
	if elsewhere := (*session.NotOwnerError)(nil); !errors.As(err, &elsewhere) || !s.opts.Movable {
		return err
	}
	if s.checkLease() != nil {
		return err
	}
	lapsed, unknown := s.opts.Lapsed(ctx, s.db.Read(), sess.NodeID)
	if unknown != nil {
		return unknown
	}
	if !lapsed {
		return err
	}
	if passed := s.CheckNew(); passed != nil {
		return passed // another node takes it
	}
	release, err := s.locks.Acquire(ctx, sess.ID)
	if err != nil {
		return err
	}
	defer release()
	if sess, err = s.Stored(ctx, sess.ID); err != nil {
		return err
	}
	if s.Owns(sess) {
		return nil // by now
	}
	return s.takeOver(ctx, sess)
}

// takeOver takes a session of a node that is not alive, under its lock.
func (s *Service) takeOver(ctx context.Context, sess session.Session) error {
	if busy, err := store.IsBusy(ctx, s.db.Read(), sess.ID); err != nil || busy {
		return cmp.Or(err, error(&session.LeftOpenError{SessionID: sess.ID, Owner: sess.NodeID}))
	}
	adapter, err := s.Adapter(sess.Runtime)
	if err != nil {
		return err
	}
	kept, whole, err := s.storedSnapshot(ctx, sess)
	if err != nil {
		return err
	}
	portable, is := runtime.Has[runtime.Movable](adapter, runtime.OpMove)
	tellAgain := !is || !whole
	if tellAgain && !runtime.CapabilitiesOf(adapter).Reconstruct {
		return &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: true,
			Reason: "not all that " + sess.Runtime + " remembers of it was stored when its node died"}
	}
	folderOf, release, err := s.obtainWorkspace(ctx, sess, kept)
	if err != nil {
		return err
	}
	defer release()
	// It may have been this node's before, and be loaded as it was then.
	if err := adapter.Threads().CloseThread(ctx, sess.ID); err != nil {
		return err
	}
	if !tellAgain {
		if err := s.restoreSnapshot(ctx, portable, sess); err != nil {
			return err
		}
	}
	err = s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		now, err := store.ReadSession(ctx, tx, sess.ID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		lapsed, err := s.opts.Lapsed(ctx, tx, sess.NodeID)
		if err != nil {
			return nil, err
		}
		busy, err := store.IsBusy(ctx, tx, sess.ID)
		if err != nil {
			return nil, err
		}
		still, _, err := store.ReadSnapshot(ctx, tx, sess.ID)
		if err != nil {
			return nil, err
		}
		if now.NodeID != sess.NodeID || now.Epoch != sess.Epoch || !lapsed || busy || still != kept {
			return nil, journal.Refuse(&session.NotOwnerError{SessionID: sess.ID, Owner: now.NodeID, Node: s.opts.NodeID})
		}
		if err := journal.CountTakeover(ctx, tx); err != nil {
			return nil, err
		}
		if err := store.UpdateSession(ctx, tx, sess.ID, `node_id = $2, epoch = epoch + 1`, s.opts.NodeID); err != nil {
			return nil, err
		}
		if err := store.SetReplay(ctx, tx, sess.ID, tellAgain); err != nil {
			return nil, err
		}
		folder, events := "same", []journal.Event(nil)
		if folderOf != "" {
			folder = "restored"
			if events, err = s.folderKeeper.workspaceMoved(ctx, tx, sess, folderOf); err != nil {
				return nil, err
			}
		}
		memory := "restored"
		if tellAgain {
			memory = "toldAgain"
		}
		return append(events, journal.Event{SessionID: sess.ID, Type: session.EventTaken, Time: s.now(), Source: session.EventSource,
			Payload: encode(struct {
				From  string `json:"from"`
				By    string `json:"by"`
				Epoch int64  `json:"epoch"`
				// Memory is how its runtime gets the conversation: from what is stored of its own memory, or told it again.
				Memory string `json:"memory"`
				// Folder is where its files are from: the same folder, or what was stored of it when its last turn ended.
				Folder string `json:"folder"`
			}{sess.NodeID, s.opts.NodeID, sess.Epoch + 1, memory, folder})}), nil
	})
	if err != nil {
		return err
	}
	if tellAgain { // now that it is this node's: its former one may have the same folder of memories
		if err := forgetRuntimeMemory(ctx, adapter, sess); err != nil {
			s.opts.Logger.Warn().Err(err).Str("session", sess.ID).
				Msg("an old copy of what the runtime remembers of a session is left; it is told the conversation after that")
		}
	}
	s.index.Update(sess.ID, func(t *live.Session) {
		t.SetIdle()
		t.Epoch = sess.Epoch + 1
	})
	s.sender.want() // messages may wait in it
	s.opts.Logger.Info().Str("session", sess.ID).Str("from", sess.NodeID).Msg("took a session of a node that is not alive")
	return nil
}

// Moved counts the sessions that got another node since this server began, here or elsewhere.
func (s *Service) Moved() int64 { return s.moved.Load() }

// storedSnapshot is what is stored of a session for it to go on elsewhere, and whether all that its runtime remembers is:
// *PinnedError when nothing is.
func (s *Service) storedSnapshot(ctx context.Context, sess session.Session) (kept store.Snapshot, whole bool, err error) {
	kept, known, err := store.ReadSnapshot(ctx, s.db.Read(), sess.ID)
	if err != nil {
		return kept, false, err
	}
	heard, err := store.LastEndedTurn(ctx, s.db.Read(), sess.ID)
	if err != nil {
		return kept, false, err
	}
	if !known {
		return kept, false, &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: true,
			Reason: "nothing that " + sess.Runtime + " remembers of it was stored when its node died"}
	}
	return kept, kept.TurnID == heard, nil
}

// obtainWorkspace has this node have the folder of a session that it is about to take: *PinnedError when it is another one
// here, or cannot be had. from is the node whose it was, when it was made here. Until release nobody else makes it.
func (s *Service) obtainWorkspace(ctx context.Context, sess session.Session, kept store.Snapshot) (from string, release func(), err error) {
	if s.opts.Folders != nil {
		// Who asked may go away: the folder is there for the next try.
		if release, err = s.locks.Acquire(ctx, "folder "+sess.Cwd); err != nil {
			return "", nil, err
		}
		if from, err = s.folderKeeper.restoreWorkspace(context.WithoutCancel(ctx), sess); err != nil {
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

// forgetRuntimeMemory removes what this node's runtime remembers of a session from when it was this node's: it is told anew.
func forgetRuntimeMemory(ctx context.Context, adapter runtime.Adapter, session session.Session) error {
	forgetter, is := adapter.(runtime.Forgetter)
	if !is {
		return nil
	}
	if _, err := forgetter.ForgetThread(ctx, session.Resume()); err != nil {
		return fmt.Errorf("remove what the runtime remembered before: %w", err)
	}
	return nil
}

// releaseToOwner ends what this node's runtime does for a session that another node has taken.
func (s *Service) releaseToOwner(ctx context.Context, session session.Session, turnID string) {
	s.index.Update(session.ID, func(t *live.Session) {
		t.SetIdle()
		t.Epoch = live.NotOwned
	})
	adapter, err := s.Adapter(session.Runtime)
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
			Msg("another node has taken a session, and its runtime here could not be told; what it says of it is not stored")
	}
}

// eventNodeEnded tells that another node was taken for dead; it shows no frame.
const eventNodeEnded = "node.ended"

// EndNode ends what a node that died left open, in one unit with claim, which refuses when it is not to be ended: its
// turns are interrupted, its requests expire, and its runtime processes are over, should they be found one day. Its
// sessions stay its own: their conversations are in files of that machine.
func (s *Service) EndNode(ctx context.Context, node string, claim func(ctx context.Context, tx database.Tx) error) error {
	reason := fmt.Sprintf("The server that ran this turn (node %s) was not heard of for too long.", node)
	return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
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

// fence remembers, for as long as no node takes anything from another, the epochs of sessions that were written to; it
// is NotOwned for those of other nodes.
type fence struct {
	takeovers int64
	epochs    map[string]int64
}

// mine tells within a unit whether a session is this node's under the epoch by which it was known when something of its
// runtime was heard. One that is not stored (any more) is. Only the journal's writer calls it.
func (s *Service) mine(ctx context.Context, tx database.Tx, sessionID string, epoch int64) (bool, error) {
	takeovers := journal.Takeovers(ctx)
	if takeovers == 0 || sessionID == "" {
		return true, nil // nobody else writes, or it is about no session
	}
	if takeovers != s.fence.takeovers || len(s.fence.epochs) > live.MaxSessions {
		s.fence = fence{takeovers, map[string]int64{}}
	}
	now, known := s.fence.epochs[sessionID]
	if !known {
		var node string
		err := tx.QueryRowContext(ctx, `select node_id, epoch from sessions where id = $1`, database.EncodeText(sessionID)).
			Scan(&node, &now)
		if errors.Is(err, sql.ErrNoRows) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("read who owns session %s: %w", sessionID, err)
		}
		if node != s.opts.NodeID && now > 0 {
			now = live.NotOwned
		}
		s.fence.epochs[sessionID] = now
	}
	return now != live.NotOwned && now == epoch, nil
}
