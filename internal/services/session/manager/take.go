package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Own is CheckOwner that takes an idle session whose node is not alive, with what its runtime remembers. *PinnedError
// when it cannot go on here, *LeftOpenError while a turn of it may still go on there, *ElsewhereError at a node that takes
// none, for another one that does.
func (s *Service) Own(ctx context.Context, sess session.Session) error {
	err := s.CheckOwner(sess)
	if elsewhere := (*session.NotOwnerError)(nil); !errors.As(err, &elsewhere) || !s.opts.Movable {
		return err
	}
	if s.sure() != nil {
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
	if sess, err = s.stored(ctx, sess.ID); err != nil {
		return err
	}
	if s.Owns(sess) {
		return nil // by now
	}
	return s.take(ctx, sess)
}

// take takes a session of a node that is not alive, under its lock.
func (s *Service) take(ctx context.Context, sess session.Session) error {
	if busy, err := isBusy(ctx, s.db.Read(), sess.ID); err != nil || busy {
		return cmp.Or(err, error(&session.LeftOpenError{SessionID: sess.ID, Owner: sess.NodeID}))
	}
	adapter, err := s.adapter(sess.Runtime)
	if err != nil {
		return err
	}
	kept, whole, err := s.keptMemory(ctx, sess)
	if err != nil {
		return err
	}
	portable, is := runtime.Has[runtime.Portable](adapter, runtime.OpMove)
	tellAgain := !is || !whole
	if tellAgain && !runtime.CapabilitiesOf(adapter).Reconstruct {
		return &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: true,
			Reason: "not all that " + sess.Runtime + " remembers of it was stored when its node died"}
	}
	folderOf, release, err := s.haveFolder(ctx, sess, kept)
	if err != nil {
		return err
	}
	defer release()
	// It may have been this node's before, and be loaded as it was then.
	if err := adapter.CloseThread(ctx, sess.ID); err != nil {
		return err
	}
	if !tellAgain {
		if err := s.restoreMemory(ctx, portable, sess); err != nil {
			return err
		}
	}
	err = s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		now, err := readSession(ctx, tx, sess.ID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		lapsed, err := s.opts.Lapsed(ctx, tx, sess.NodeID)
		if err != nil {
			return nil, err
		}
		busy, err := isBusy(ctx, tx, sess.ID)
		if err != nil {
			return nil, err
		}
		still, _, err := readCustody(ctx, tx, sess.ID)
		if err != nil {
			return nil, err
		}
		if now.NodeID != sess.NodeID || now.Epoch != sess.Epoch || !lapsed || busy || still != kept {
			return nil, journal.Refuse(&session.NotOwnerError{SessionID: sess.ID, Owner: now.NodeID, Node: s.opts.NodeID})
		}
		if err := journal.CountTakeover(ctx, tx); err != nil {
			return nil, err
		}
		if err := updateSession(ctx, tx, sess.ID, `node_id = $2, epoch = epoch + 1`, s.opts.NodeID); err != nil {
			return nil, err
		}
		if err := storeTellAgain(ctx, tx, sess.ID, tellAgain); err != nil {
			return nil, err
		}
		folder, events := "same", []journal.Event(nil)
		if folderOf != "" {
			folder = "restored"
			if events, err = s.folderMoved(ctx, tx, sess, folderOf); err != nil {
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
		if err := forgetMemoryOf(ctx, adapter, sess); err != nil {
			s.opts.Logger.Warn().Err(err).Str("session", sess.ID).
				Msg("an old copy of what the runtime remembers of a session is left; it is told the conversation after that")
		}
	}
	s.view.change(sess.ID, func(t *thread) {
		t.rest()
		t.epoch = sess.Epoch + 1
	})
	s.sender.want() // messages may wait in it
	s.opts.Logger.Info().Str("session", sess.ID).Str("from", sess.NodeID).Msg("took a session of a node that is not alive")
	return nil
}

// Moved counts the sessions that got another node since this server began, here or elsewhere.
func (s *Service) Moved() int64 { return s.moved.Load() }

// isBusy tells whether something is under way in a session that only its node can end.
func isBusy(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	var busy int64
	err := q.QueryRowContext(ctx, `select (select count(*) from turns where session_id = $1 and status = 'inProgress') +
		(select count(*) from open_rollbacks where session_id = $1)`, database.EncodeText(sessionID)).Scan(&busy)
	if err != nil {
		return false, fmt.Errorf("read what is under way in session %s: %w", sessionID, err)
	}
	return busy > 0, nil
}

// keptMemory is what is stored of a session for it to go on elsewhere, and whether all that its runtime remembers is:
// *PinnedError when nothing is.
func (s *Service) keptMemory(ctx context.Context, sess session.Session) (kept custodyRow, whole bool, err error) {
	kept, known, err := readCustody(ctx, s.db.Read(), sess.ID)
	if err != nil {
		return kept, false, err
	}
	heard, err := heardTurn(ctx, s.db.Read(), sess.ID)
	if err != nil {
		return kept, false, err
	}
	if !known {
		return kept, false, &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: true,
			Reason: "nothing that " + sess.Runtime + " remembers of it was stored when its node died"}
	}
	return kept, kept.turnID == heard, nil
}

// haveFolder has this node have the folder of a session that it is about to take: *PinnedError when it is another one
// here, or cannot be had. from is the node whose it was, when it was made here. Until release nobody else makes it.
func (s *Service) haveFolder(ctx context.Context, sess session.Session, kept custodyRow) (from string, release func(), err error) {
	if s.opts.Folders != nil {
		// Who asked may go away: the folder is there for the next try.
		if release, err = s.locks.Acquire(ctx, "folder "+sess.Cwd); err != nil {
			return "", nil, err
		}
		if from, err = s.bringFolder(context.WithoutCancel(ctx), sess); err != nil {
			release()
			return "", nil, err
		}
		return from, release, nil
	}
	folder := cmp.Or(sess.Cwd, s.opts.WorkspaceRoot)
	found, err := readMark(folder)
	if err != nil {
		return "", nil, err
	}
	if found == "" || found != kept.workspace {
		return "", nil, &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: false,
			Reason: fmt.Sprintf("its folder %s is not the same one here (share it between the nodes, at the same path)", folder)}
	}
	return "", func() {}, nil
}

// forgetMemoryOf removes what this node's runtime remembers of a session from when it was this node's: it is told anew.
func forgetMemoryOf(ctx context.Context, adapter runtime.Adapter, session session.Session) error {
	forgetter, is := adapter.(runtime.Forgetter)
	if !is {
		return nil
	}
	if _, err := forgetter.ForgetThread(ctx, session.Resume()); err != nil {
		return fmt.Errorf("remove what the runtime remembered before: %w", err)
	}
	return nil
}

// giveUp ends what this node's runtime does for a session that another node has taken.
func (s *Service) giveUp(ctx context.Context, session session.Session, turnID string) {
	s.view.change(session.ID, func(t *thread) {
		t.rest()
		t.epoch = notOwned
	})
	adapter, err := s.adapter(session.Runtime)
	if err == nil && turnID != "" {
		err = adapter.InterruptTurn(ctx, session.ID, turnID)
		if errors.Is(err, runtime.ErrNoActiveTurn) || errors.Is(err, runtime.ErrThreadNotFound) {
			err = nil
		}
	}
	if err == nil {
		err = adapter.CloseThread(ctx, session.ID)
	}
	if err != nil && ctx.Err() == nil {
		s.opts.Logger.Warn().Err(err).Str("session", session.ID).Str("owner", session.NodeID).
			Msg("another node has taken a session, and its runtime here could not be told; what it says of it is not stored")
	}
}
