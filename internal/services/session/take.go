package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
)

// eventSessionTaken tells that a session goes on at another node; it shows no frame.
const eventSessionTaken = "session.taken"

// Taking tells what an event says of a session that goes on at another node: whose it was, and whose it is.
func Taking(event *journal.Event) (from, by string, is bool) {
	if event.Type != eventSessionTaken {
		return "", "", false
	}
	var told struct{ From, By string }
	err := json.Unmarshal(event.Payload, &told)
	return told.From, told.By, err == nil
}

// PinnedError refuses to take a session whose node is gone: it could not go on here as it was. Nothing was changed.
type PinnedError struct {
	SessionID, Owner string
	// Memory says that it is what the runtime remembers that is missing here, and not the session's folder.
	Memory bool
	Reason string
}

// Error implements error.
func (e *PinnedError) Error() string {
	return fmt.Sprintf("session %s cannot go on at this node: %s. It waits for node %s: start that one's server again; "+
		"nothing was changed", e.SessionID, e.Reason, e.Owner)
}

// Code names it for programs.
func (e *PinnedError) Code() string {
	if e.Memory {
		return "memory_pinned"
	}
	return "workspace_pinned"
}

// LeftOpenError refuses to take a session in which a turn may still go on at its node, which does not answer.
type LeftOpenError struct{ SessionID, Owner string }

// Error implements error.
func (e *LeftOpenError) Error() string {
	return fmt.Sprintf("node %s does not answer, and a turn it ran in session %s is not ended yet: ask again, it is when that "+
		"node's grace (HARNESS_NODE_GRACE_MS) is over, or its server back; nothing was done", e.Owner, e.SessionID)
}

// Own is CheckOwner that takes an idle session whose node is not alive, with what its runtime remembers. *PinnedError
// when it cannot go on here, *LeftOpenError while a turn of it may still go on there, *ElsewhereError at a node that takes
// none, for another one that does.
func (s *Service) Own(ctx context.Context, session Session) error {
	err := s.CheckOwner(session)
	if elsewhere := (*NotOwnerError)(nil); !errors.As(err, &elsewhere) || !s.opts.Movable {
		return err
	}
	if s.sure() != nil {
		return err
	}
	lapsed, unknown := s.opts.Lapsed(ctx, s.db.Read(), session.NodeID)
	if unknown != nil {
		return unknown
	}
	if !lapsed {
		return err
	}
	if passed := s.CheckNew(); passed != nil {
		return passed // another node takes it
	}
	release, err := s.locks.Acquire(ctx, session.ID)
	if err != nil {
		return err
	}
	defer release()
	if session, err = s.stored(ctx, session.ID); err != nil {
		return err
	}
	if s.Owns(session) {
		return nil // by now
	}
	return s.take(ctx, session)
}

// take takes a session of a node that is not alive, under its lock.
func (s *Service) take(ctx context.Context, session Session) error {
	if busy, err := isBusy(ctx, s.db.Read(), session.ID); err != nil || busy {
		return cmp.Or(err, error(&LeftOpenError{SessionID: session.ID, Owner: session.NodeID}))
	}
	adapter, err := s.adapter(session.Runtime)
	if err != nil {
		return err
	}
	kept, whole, err := s.keptMemory(ctx, session)
	if err != nil {
		return err
	}
	portable, is := runtime.Has[runtime.Portable](adapter, runtime.OpMove)
	tellAgain := !is || !whole
	if tellAgain && !runtime.CapabilitiesOf(adapter).Reconstruct {
		return &PinnedError{session.ID, session.NodeID, true,
			"not all that " + session.Runtime + " remembers of it was stored when its node died"}
	}
	folderOf, release, err := s.haveFolder(ctx, session, kept)
	if err != nil {
		return err
	}
	defer release()
	// It may have been this node's before, and be loaded as it was then.
	if err := adapter.CloseThread(ctx, session.ID); err != nil {
		return err
	}
	if !tellAgain {
		if err := s.restoreMemory(ctx, portable, session); err != nil {
			return err
		}
	}
	err = s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		now, err := readSession(ctx, tx, session.ID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		lapsed, err := s.opts.Lapsed(ctx, tx, session.NodeID)
		if err != nil {
			return nil, err
		}
		busy, err := isBusy(ctx, tx, session.ID)
		if err != nil {
			return nil, err
		}
		still, _, err := readCustody(ctx, tx, session.ID)
		if err != nil {
			return nil, err
		}
		if now.NodeID != session.NodeID || now.epoch != session.epoch || !lapsed || busy || still != kept {
			return nil, journal.Refuse(&NotOwnerError{SessionID: session.ID, Owner: now.NodeID, Node: s.opts.NodeID})
		}
		if err := journal.CountTakeover(ctx, tx); err != nil {
			return nil, err
		}
		if err := updateSession(ctx, tx, session.ID, `node_id = $2, epoch = epoch + 1`, s.opts.NodeID); err != nil {
			return nil, err
		}
		if err := storeTellAgain(ctx, tx, session.ID, tellAgain); err != nil {
			return nil, err
		}
		folder, events := "same", []journal.Event(nil)
		if folderOf != "" {
			folder = "restored"
			if events, err = s.folderMoved(ctx, tx, session, folderOf); err != nil {
				return nil, err
			}
		}
		memory := "restored"
		if tellAgain {
			memory = "toldAgain"
		}
		return append(events, journal.Event{SessionID: session.ID, Type: eventSessionTaken, Time: s.now(), Source: source,
			Payload: encode(struct {
				From  string `json:"from"`
				By    string `json:"by"`
				Epoch int64  `json:"epoch"`
				// Memory is how its runtime gets the conversation: from what is stored of its own memory, or told it again.
				Memory string `json:"memory"`
				// Folder is where its files are from: the same folder, or what was stored of it when its last turn ended.
				Folder string `json:"folder"`
			}{session.NodeID, s.opts.NodeID, session.epoch + 1, memory, folder})}), nil
	})
	if err != nil {
		return err
	}
	if tellAgain { // now that it is this node's: its former one may have the same folder of memories
		if err := forgetMemoryOf(ctx, adapter, session); err != nil {
			s.opts.Logger.Warn().Err(err).Str("session", session.ID).
				Msg("an old copy of what the runtime remembers of a session is left; it is told the conversation after that")
		}
	}
	s.view.change(session.ID, func(t *thread) {
		t.rest()
		t.epoch = session.epoch + 1
	})
	s.sender.want() // messages may wait in it
	s.opts.Logger.Info().Str("session", session.ID).Str("from", session.NodeID).Msg("took a session of a node that is not alive")
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
func (s *Service) keptMemory(ctx context.Context, session Session) (kept custodyRow, whole bool, err error) {
	kept, known, err := readCustody(ctx, s.db.Read(), session.ID)
	if err != nil {
		return kept, false, err
	}
	heard, err := heardTurn(ctx, s.db.Read(), session.ID)
	if err != nil {
		return kept, false, err
	}
	if !known {
		return kept, false, &PinnedError{session.ID, session.NodeID, true,
			"nothing that " + session.Runtime + " remembers of it was stored when its node died"}
	}
	return kept, kept.turnID == heard, nil
}

// haveFolder has this node have the folder of a session that it is about to take: *PinnedError when it is another one
// here, or cannot be had. from is the node whose it was, when it was made here. Until release nobody else makes it.
func (s *Service) haveFolder(ctx context.Context, session Session, kept custodyRow) (from string, release func(), err error) {
	if s.opts.Folders != nil {
		// Who asked may go away: the folder is there for the next try.
		if release, err = s.locks.Acquire(ctx, "folder "+session.Cwd); err != nil {
			return "", nil, err
		}
		if from, err = s.bringFolder(context.WithoutCancel(ctx), session); err != nil {
			release()
			return "", nil, err
		}
		return from, release, nil
	}
	folder := cmp.Or(session.Cwd, s.opts.WorkspaceRoot)
	found, err := readMark(folder)
	if err != nil {
		return "", nil, err
	}
	if found == "" || found != kept.workspace {
		return "", nil, &PinnedError{session.ID, session.NodeID, false,
			fmt.Sprintf("its folder %s is not the same one here (share it between the nodes, at the same path)", folder)}
	}
	return "", func() {}, nil
}

// forgetMemoryOf removes what this node's runtime remembers of a session from when it was this node's: it is told anew.
func forgetMemoryOf(ctx context.Context, adapter runtime.Adapter, session Session) error {
	forgetter, is := adapter.(runtime.Forgetter)
	if !is {
		return nil
	}
	if _, err := forgetter.ForgetThread(ctx, session.resume()); err != nil {
		return fmt.Errorf("remove what the runtime remembered before: %w", err)
	}
	return nil
}

// giveUp ends what this node's runtime does for a session that another node has taken.
func (s *Service) giveUp(ctx context.Context, session Session, turnID string) {
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
