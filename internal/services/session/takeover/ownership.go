// Package takeover decides which node owns a session, and stores what another node needs to go on with it.
//
// It owns the rule of ownership, the fence of the journal's writer and the snapshots of what runtimes remember. It must
// never know HTTP or a provider's JSON shapes.
package takeover

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// Node is a server among those that share the store.
type Node struct {
	// NodeID is the same after a restart.
	NodeID string
	// NoRuntimes is set on a node that runs no agents: others do.
	NoRuntimes bool
	// Draining, when set, reports that this node is to begin nothing new for people.
	Draining func() bool
	// Lease, when set, returns why this node may not use its runtimes now: others may have taken it for dead.
	Lease func() error
	// AdoptNodes are nodes that are gone for good. OnlyNode stands for all others.
	AdoptNodes []string
	OnlyNode   bool
	// Movable lets sessions go on at other nodes. Lapsed reports, within a transaction or as things stand, whether the
	// sessions of a node may be taken.
	Movable bool
	Lapsed  func(ctx context.Context, q database.Querier, node string) (bool, error)
}

// OwnershipOptions configure Ownership.
type OwnershipOptions struct {
	Node    Node
	Journal *journal.Journal
	DB      *database.DB
	Logger  zerolog.Logger
	Clock   func() time.Time
}

// Ownership decides which node may use the runtime of a session.
type Ownership struct {
	opts  OwnershipOptions
	node  Node
	fence fence // of the journal's writer, which runs units one after the other
}

// NewOwnership makes the Ownership of a node.
func NewOwnership(opts OwnershipOptions) *Ownership { return &Ownership{opts: opts, node: opts.Node} }

// CheckRuns reports whether this node runs agents: *ElsewhereError.
func (o *Ownership) CheckRuns() error {
	if o.node.NoRuntimes {
		return &session.ElsewhereError{Node: o.node.NodeID, Why: session.NoRuntimes}
	}
	return nil
}

// CheckNew reports whether this node makes sessions for people: *ElsewhereError.
func (o *Ownership) CheckNew() error {
	if err := o.CheckRuns(); err != nil {
		return err
	}
	if o.node.Draining != nil && o.node.Draining() {
		return &session.ElsewhereError{Node: o.node.NodeID, Why: drainedWhy}
	}
	return nil
}

// drainedWhy is why a node that is to go begins nothing, after its name.
const drainedWhy = "is being drained and begins nothing new; turns that run go on. " +
	"Send it again when its server has been started anew"

// CheckOwner is the one rule about who may use a session's runtime: the node that created or adopted the session.
// *NotOwnerError for every other one. What needs no runtime (reads, entries, controls, projects, decisions) every node
// may do. While this node is not sure that it is the owner still: *journal.OutageError, nothing was done.
func (o *Ownership) CheckOwner(sess session.Session) error {
	if o.Owns(sess) {
		return o.CheckLease()
	}
	return &session.NotOwnerError{SessionID: sess.ID, Owner: sess.NodeID, Node: o.node.NodeID}
}

// CheckLease asks whether others can have taken this node for dead: then what it remembers may be wrong by now.
func (o *Ownership) CheckLease() error {
	if o.node.Lease == nil {
		return nil
	}
	if err := o.node.Lease(); err != nil {
		return &journal.OutageError{Engine: o.opts.DB.Engine(), Since: o.opts.Clock(), Cause: err}
	}
	return nil
}

// CheckDrained refuses a message on a node that is to go: runtime.ErrUnavailable. Workers go on with what they do.
func (o *Ownership) CheckDrained(systemOwned bool) error {
	if systemOwned || o.node.Draining == nil || !o.node.Draining() {
		return nil
	}
	return fmt.Errorf("%w: node %s %s", runtime.ErrUnavailable, o.node.NodeID, drainedWhy)
}

// Owns reports whether a session is this node'o.
func (o *Ownership) Owns(session session.Session) bool { return session.NodeID == o.node.NodeID }

// AdoptNodes makes everything of nodes that are gone this node's, before what they left open is settled as its own.
func (o *Ownership) AdoptNodes(ctx context.Context, tx database.Tx) error {
	gone := o.node.AdoptNodes
	if o.node.OnlyNode {
		var err error
		if gone, err = otherNodes(ctx, tx, o.node.NodeID); err != nil {
			return err
		}
	}
	gone = slices.DeleteFunc(slices.Clone(gone), func(node string) bool { return node == o.node.NodeID })
	if len(gone) == 0 {
		return nil
	}
	if err := journal.CountTakeover(ctx, tx); err != nil {
		return err
	}
	for _, node := range gone {
		for _, table := range []string{"sessions", "turns", "interactive_requests", "runtime_spools", "thread_deletions",
			"open_rollbacks"} {
			next := ""
			if table == "sessions" {
				next = ", epoch = epoch + 1"
			}
			result, err := tx.ExecContext(ctx, `update `+table+` set node_id = $2`+next+` where node_id = $1`, node,
				o.node.NodeID)
			if err != nil {
				return fmt.Errorf("adopt the %s of node %s: %w", table, node, err)
			}
			if count, err := result.RowsAffected(); err == nil && table == "sessions" {
				o.opts.Logger.Info().Str("from", node).Int64("sessions", count).Msg("adopted the sessions of a node that is gone")
			}
		}
	}
	return nil
}

func otherNodes(ctx context.Context, tx database.Tx, own string) ([]string, error) {
	return database.ReadTexts(ctx, tx, "list the nodes with sessions",
		`select distinct node_id from sessions where node_id <> $1`, own)
}

// fence remembers, for as long as no node takes anything from another, the epochs of sessions that were written to; it
// is NotOwned for those of other nodes.
type fence struct {
	takeovers int64
	epochs    map[string]int64
}

// Mine reports within a unit whether a session is this node's under the epoch by which it was known when something of its
// runtime was received. One that is not stored (any more) is. Only the journal's writer calls it.
func (o *Ownership) Mine(ctx context.Context, tx database.Tx, sessionID string, epoch int64) (bool, error) {
	takeovers := journal.Takeovers(ctx)
	if takeovers == 0 || sessionID == "" {
		return true, nil // no one else writes, or it is about no session
	}
	if takeovers != o.fence.takeovers || len(o.fence.epochs) > live.MaxSessions {
		o.fence = fence{takeovers, map[string]int64{}}
	}
	now, known := o.fence.epochs[sessionID]
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
		if node != o.node.NodeID && now > 0 {
			now = live.NotOwned
		}
		o.fence.epochs[sessionID] = now
	}
	return now != live.NotOwned && now == epoch, nil
}

// CommitOwned stores something of a session's runtime, unless another node has taken the session.
func (o *Ownership) CommitOwned(ctx context.Context, sess session.Session, st func(context.Context, database.Tx) error) error {
	return o.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := store.IsSystemOwned(ctx, tx, sess.ID); session.Absent(err) {
			return nil, nil
		}
		mine, err := o.Mine(ctx, tx, sess.ID, sess.Epoch)
		if err != nil || !mine {
			return nil, err
		}
		return nil, st(ctx, tx)
	})
}

// commit runs a unit for a caller.
func (o *Ownership) commit(ctx context.Context, unit journal.Unit) error {
	_, err := o.opts.Journal.Commit(ctx, unit)
	return err
}
