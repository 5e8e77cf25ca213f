// Package takeover decides which node owns a session, and stores its state for another node.
//
// It owns the rule of ownership, the fence of the journal's writer and the snapshots of runtimes' state. It must never
// know HTTP or a provider's JSON shapes.
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

// Node describes this server among those that share the store.
type Node struct {
	// NodeID is the same after a restart.
	NodeID string
	// NoRuntimes is set on a node without agents; other nodes run them.
	NoRuntimes bool
	// Draining, when set, reports whether this node must not start new work for users.
	Draining func() bool
	// Lease, when set, returns why this node may not use its runtimes now: other nodes may consider this node dead.
	Lease func() error
	// AdoptNodes lists permanently lost nodes. OnlyNode means all other nodes.
	AdoptNodes []string
	OnlyNode   bool
	// Movable lets sessions move to other nodes. Lapsed reports whether a node's sessions may be taken over. It works
	// inside or outside a transaction.
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
	fence fence // only the journal's writer uses it, which runs units one by one
}

// NewOwnership makes the Ownership of a node.
func NewOwnership(opts OwnershipOptions) *Ownership { return &Ownership{opts: opts, node: opts.Node} }

// CheckRuns returns *ElsewhereError if this node runs no agents.
func (o *Ownership) CheckRuns() error {
	if o.node.NoRuntimes {
		return &session.ElsewhereError{Node: o.node.NodeID, Why: session.NoRuntimes}
	}
	return nil
}

// CheckNew returns *ElsewhereError if this node does not create sessions for users.
func (o *Ownership) CheckNew() error {
	if err := o.CheckRuns(); err != nil {
		return err
	}
	if o.node.Draining != nil && o.node.Draining() {
		return &session.ElsewhereError{Node: o.node.NodeID, Why: drainedWhy}
	}
	return nil
}

// drainedWhy is the reason for a draining node; it follows the node's name.
const drainedWhy = "is being drained and starts nothing new; running turns continue. " +
	"Send it again after its server has restarted"

// CheckOwner is the only rule for the use of a session's runtime: only the node that created or adopted the session
// may use it. On every other node it returns *NotOwnerError. Every node may do operations that need no runtime (reads,
// entries, controls, projects, decisions). It returns *journal.OutageError while this node's ownership is uncertain;
// nothing changed.
func (o *Ownership) CheckOwner(sess session.Session) error {
	if o.Owns(sess) {
		return o.CheckLease()
	}
	return &session.NotOwnerError{SessionID: sess.ID, Owner: sess.NodeID, Node: o.node.NodeID}
}

// CheckLease returns an error if other nodes may consider this node dead: its data in memory may be out of date.
func (o *Ownership) CheckLease() error {
	if o.node.Lease == nil {
		return nil
	}
	if err := o.node.Lease(); err != nil {
		return &journal.OutageError{Engine: o.opts.DB.Engine(), Since: o.opts.Clock(), Cause: err}
	}
	return nil
}

// CheckDrained refuses a message on a draining node with runtime.ErrUnavailable. Workers continue.
func (o *Ownership) CheckDrained(systemOwned bool) error {
	if systemOwned || o.node.Draining == nil || !o.node.Draining() {
		return nil
	}
	return fmt.Errorf("%w: node %s %s", runtime.ErrUnavailable, o.node.NodeID, drainedWhy)
}

// Owns reports whether this node owns a session.
func (o *Ownership) Owns(session session.Session) bool { return session.NodeID == o.node.NodeID }

// AdoptNodes makes this node the owner of lost nodes' sessions, before it settles their open state as its own.
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
				o.opts.Logger.Info().Str("from", node).Int64("sessions", count).Msg("adopted the sessions of a dead node")
			}
		}
	}
	return nil
}

func otherNodes(ctx context.Context, tx database.Tx, own string) ([]string, error) {
	return database.ReadTexts(ctx, tx, "list the nodes with sessions",
		`select distinct node_id from sessions where node_id <> $1`, own)
}

// fence caches the epochs of written sessions until any node takes over a session. For sessions of other nodes the
// epoch is NotOwned.
type fence struct {
	takeovers int64
	epochs    map[string]int64
}

// Mine reports within a unit whether this node owns a session under the epoch of the runtime's signal. It returns true
// for a session that is not stored. Only the journal's writer calls it.
func (o *Ownership) Mine(ctx context.Context, tx database.Tx, sessionID string, epoch int64) (bool, error) {
	takeovers := journal.Takeovers(ctx)
	if takeovers == 0 || sessionID == "" {
		return true, nil // no other node writes, or the signal has no session
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

// CommitOwned stores a change from a session's runtime, unless another node has taken over the session.
func (o *Ownership) CommitOwned(ctx context.Context, sess session.Session, st func(context.Context, database.Tx) error) error {
	return o.opts.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
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
