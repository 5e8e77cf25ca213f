package takeover

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rs/zerolog"

	"harness/internal/lib/javascript"
	"harness/internal/lib/keylock"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// Workspaces restores the workspace of a session on this node.
type Workspaces interface {
	// Obtain restores the workspace of a session before its takeover: *session.PinnedError on failure. from is the
	// node that had it, "" if this node already has it. No other call restores it until release.
	Obtain(ctx context.Context, sess session.Session, kept store.Snapshot) (from string, release func(), err error)
	// Restored records within a unit that another node's workspace moved to this node.
	Restored(ctx context.Context, tx database.Tx, sess session.Session, from string) ([]journal.Event, error)
}

// MoverOptions configure Mover.
type MoverOptions struct {
	DB         *database.DB
	Locks      *keylock.Locks
	Index      *live.Index
	Owner      *Ownership
	Snapshots  *Snapshots
	Sessions   Sessions
	Workspaces Workspaces
	// Taken is called after each takeover of a session.
	Taken  func()
	Logger zerolog.Logger
	// Now returns the time in ms.
	Now func() int64
}

// Mover takes over sessions of dead nodes.
type Mover struct{ opts MoverOptions }

// NewMover makes a Mover.
func NewMover(opts MoverOptions) *Mover { return &Mover{opts: opts} }

// Own is CheckOwner that also takes over an idle session of a dead node, with its runtime's state. It returns
// *PinnedError if the session cannot run here, and *LeftOpenError while its turn may still run there. A node that
// refuses takeovers returns *ElsewhereError, so that another node can take the session over.
func (m *Mover) Own(ctx context.Context, sess session.Session) error {
	err := m.opts.Owner.CheckOwner(sess)
	if elsewhere := (*session.NotOwnerError)(nil); !errors.As(err, &elsewhere) || !m.opts.Owner.node.Movable {
		return err
	}
	if m.opts.Owner.CheckLease() != nil {
		return err
	}
	lapsed, unknown := m.opts.Owner.node.Lapsed(ctx, m.opts.DB.Read(), sess.NodeID)
	if unknown != nil {
		return unknown
	}
	if !lapsed {
		return err
	}
	if passed := m.opts.Owner.CheckNew(); passed != nil {
		return passed // another node takes it over
	}
	release, err := m.opts.Locks.Acquire(ctx, sess.ID)
	if err != nil {
		return err
	}
	defer release()
	if sess, err = m.opts.Sessions.Stored(ctx, sess.ID); err != nil {
		return err
	}
	if m.opts.Owner.Owns(sess) {
		return nil // it owns the session by now
	}
	return m.takeOver(ctx, sess)
}

// move is the state of a takeover of one session by this node.
type move struct {
	sess    session.Session
	adapter runtime.Adapter
	kept    store.Snapshot
	// movable is nil if the runtime receives the conversation as a transcript replay.
	movable runtime.Movable
	// from is the node that had the workspace, "" if this node already has it.
	from string
}

// takeOver takes over a session of a dead node, under its lock.
func (m *Mover) takeOver(ctx context.Context, sess session.Session) error {
	one, err := m.prepare(ctx, sess)
	if err != nil {
		return err
	}
	from, release, err := m.opts.Workspaces.Obtain(ctx, sess, one.kept)
	if err != nil {
		return err
	}
	defer release()
	one.from = from
	// This node may have owned the session before, and may still have an old state loaded.
	if err := one.adapter.Threads().CloseThread(ctx, sess.ID); err != nil {
		return err
	}
	if one.movable != nil {
		if err := m.opts.Snapshots.Restore(ctx, one.movable, sess); err != nil {
			return err
		}
	}
	if err := m.opts.Owner.opts.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return m.store(ctx, tx, one)
	}); err != nil {
		return err
	}
	if one.movable == nil { // after the takeover: the former node may share the runtime's files
		if err := forgetRuntimeMemory(ctx, one.adapter, sess); err != nil {
			m.opts.Logger.Warn().Err(err).Str("session", sess.ID).
				Msg("agent memory is from an older turn; later turns are replayed from the transcript")
		}
	}
	m.opts.Index.Update(sess.ID, func(t *live.Session) {
		t.SetIdle()
		t.Epoch = sess.Epoch + 1
	})
	m.opts.Taken()
	m.opts.Logger.Info().Str("session", sess.ID).Str("from", sess.NodeID).Msg("took over a session of a dead node")
	return nil
}

// prepare checks that a session can run here, and chooses how its runtime receives the conversation.
func (m *Mover) prepare(ctx context.Context, sess session.Session) (move, error) {
	if busy, err := store.IsBusy(ctx, m.opts.DB.Read(), sess.ID); err != nil || busy {
		return move{}, cmp.Or(err, error(&session.LeftOpenError{SessionID: sess.ID, Owner: sess.NodeID}))
	}
	adapter, err := m.opts.Sessions.Adapter(sess.Runtime)
	if err != nil {
		return move{}, err
	}
	kept, whole, err := m.storedSnapshot(ctx, sess)
	if err != nil {
		return move{}, err
	}
	one := move{sess: sess, adapter: adapter, kept: kept}
	if movable, is := runtime.Has[runtime.Movable](adapter, runtime.OpMove); is && whole {
		one.movable = movable
	} else if !runtime.CapabilitiesOf(adapter).Reconstruct {
		return move{}, &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: true,
			Reason: "the memory of " + sess.Runtime + " was not fully stored when its node died"}
	}
	return one, nil
}

// store makes this node the owner of a session within a unit, unless the session changed since prepare.
func (m *Mover) store(ctx context.Context, tx database.Tx, one move) ([]journal.Event, error) {
	sess := one.sess
	if err := m.checkUnchanged(ctx, tx, one); err != nil {
		return nil, err
	}
	if err := journal.CountTakeover(ctx, tx); err != nil {
		return nil, err
	}
	if err := store.UpdateSession(ctx, tx, sess.ID, `node_id = $2, epoch = epoch + 1`, m.opts.Owner.node.NodeID); err != nil {
		return nil, err
	}
	if err := store.SetReplay(ctx, tx, sess.ID, one.movable == nil); err != nil {
		return nil, err
	}
	folder, events := "same", []journal.Event(nil)
	if one.from != "" {
		var err error
		folder = "restored"
		if events, err = m.opts.Workspaces.Restored(ctx, tx, sess, one.from); err != nil {
			return nil, err
		}
	}
	memory := "restored"
	if one.movable == nil {
		memory = "toldAgain"
	}
	return append(events, journal.Event{SessionID: sess.ID, Type: session.EventTaken, Time: m.opts.Now(), Source: session.EventSource,
		Payload: javascript.MustEncode(struct {
			From  string `json:"from"`
			By    string `json:"by"`
			Epoch int64  `json:"epoch"`
			// Memory is where the runtime got the conversation: a snapshot of its own state, or a replay.
			Memory string `json:"memory"`
			// Folder is where the session's files came from: the same folder, or the copy from the end of its last
			// turn.
			Folder string `json:"folder"`
		}{sess.NodeID, m.opts.Owner.node.NodeID, sess.Epoch + 1, memory, folder})}), nil
}

// checkUnchanged returns *session.NotOwnerError if a session changed since prepare.
func (m *Mover) checkUnchanged(ctx context.Context, tx database.Tx, one move) error {
	sess := one.sess
	now, err := store.ReadSession(ctx, tx, sess.ID)
	if err != nil {
		return journal.Refuse(err)
	}
	lapsed, err := m.opts.Owner.node.Lapsed(ctx, tx, sess.NodeID)
	if err != nil {
		return err
	}
	busy, err := store.IsBusy(ctx, tx, sess.ID)
	if err != nil {
		return err
	}
	still, _, err := store.ReadSnapshot(ctx, tx, sess.ID)
	if err != nil {
		return err
	}
	if now.NodeID != sess.NodeID || now.Epoch != sess.Epoch || !lapsed || busy || still != one.kept {
		return journal.Refuse(&session.NotOwnerError{SessionID: sess.ID, Owner: now.NodeID, Node: m.opts.Owner.node.NodeID})
	}
	return nil
}

// storedSnapshot reads the stored snapshot of a session, and whether it has all of the runtime's state. Without a
// snapshot it returns *PinnedError.
func (m *Mover) storedSnapshot(ctx context.Context, sess session.Session) (kept store.Snapshot, whole bool, err error) {
	kept, known, err := store.ReadSnapshot(ctx, m.opts.DB.Read(), sess.ID)
	if err != nil {
		return kept, false, err
	}
	released, err := store.LastEndedTurn(ctx, m.opts.DB.Read(), sess.ID)
	if err != nil {
		return kept, false, err
	}
	if !known {
		return kept, false, &session.PinnedError{SessionID: sess.ID, Owner: sess.NodeID, Memory: true,
			Reason: "no memory of " + sess.Runtime + " was stored when its node died"}
	}
	return kept, kept.TurnID == released, nil
}

// forgetRuntimeMemory deletes this node's old runtime state of a session, because the session gets a replay.
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
