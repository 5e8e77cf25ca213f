package manager

import (
	"context"
	"fmt"
	"slices"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// CheckRuns tells whether this node runs agents: *ElsewhereError.
func (s *Service) CheckRuns() error {
	if s.opts.NoRuntimes {
		return &session.ElsewhereError{Node: s.opts.NodeID, Why: session.NoRuntimes}
	}
	return nil
}

// CheckNew tells whether this node makes sessions for people: *ElsewhereError.
func (s *Service) CheckNew() error {
	if err := s.CheckRuns(); err != nil {
		return err
	}
	if s.opts.Draining != nil && s.opts.Draining() {
		return &session.ElsewhereError{Node: s.opts.NodeID, Why: drainedWhy}
	}
	return nil
}

// drainedWhy is why a node that is to go begins nothing, after its name.
const drainedWhy = "is being drained and begins nothing new; turns that run go on. " +
	"Send it again when its server has been started anew"

// CheckOwner is the one rule about who may use a session's runtime: the node that created or adopted the session.
// *NotOwnerError for every other one. What needs no runtime (reads, entries, controls, projects, decisions) every node
// may do. While this node is not sure that it is the owner still: *journal.OutageError, nothing was done.
func (s *Service) CheckOwner(sess session.Session) error {
	if s.Owns(sess) {
		return s.checkLease()
	}
	return &session.NotOwnerError{SessionID: sess.ID, Owner: sess.NodeID, Node: s.opts.NodeID}
}

// checkLease asks whether others can have taken this node for dead: then what it remembers may be wrong by now.
func (s *Service) checkLease() error {
	if s.opts.Sure == nil {
		return nil
	}
	if err := s.opts.Sure(); err != nil {
		return &journal.OutageError{Engine: s.db.Engine(), Since: s.opts.Clock(), Cause: err}
	}
	return nil
}

// drained refuses a message on a node that is to go: runtime.ErrUnavailable. Workers go on with what they do.
func (s *Service) drained(systemOwned bool) error {
	if systemOwned || s.opts.Draining == nil || !s.opts.Draining() {
		return nil
	}
	return fmt.Errorf("%w: node %s %s", runtime.ErrUnavailable, s.opts.NodeID, drainedWhy)
}

// Owns tells whether a session is this node's.
func (s *Service) Owns(session session.Session) bool { return session.NodeID == s.opts.NodeID }

// owned finds a session of this node and its runtime. Errors are those of Lookup, *NotOwnerError, and
// runtime.ErrUnavailable.
func (s *Service) owned(ctx context.Context, sessionID string) (session.Session, runtime.Adapter, error) {
	sess, err := s.conversations.adopt(ctx, sessionID)
	if err == nil {
		err = s.CheckOwner(sess)
	}
	if err != nil {
		return session.Session{}, nil, err
	}
	adapter, err := s.Adapter(sess.Runtime)
	return sess, adapter, err
}

// adoptNodes makes everything of nodes that are gone this node's, before what they left open is settled as its own.
func (s *Service) adoptNodes(ctx context.Context, tx database.Tx) error {
	gone := s.opts.AdoptNodes
	if s.opts.OnlyNode {
		var err error
		if gone, err = otherNodes(ctx, tx, s.opts.NodeID); err != nil {
			return err
		}
	}
	gone = slices.DeleteFunc(slices.Clone(gone), func(node string) bool { return node == s.opts.NodeID })
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
				s.opts.NodeID)
			if err != nil {
				return fmt.Errorf("adopt the %s of node %s: %w", table, node, err)
			}
			if count, err := result.RowsAffected(); err == nil && table == "sessions" {
				s.opts.Logger.Info().Str("from", node).Int64("sessions", count).Msg("adopted the sessions of a node that is gone")
			}
		}
	}
	return nil
}

func otherNodes(ctx context.Context, tx database.Tx, own string) ([]string, error) {
	return database.ReadTexts(ctx, tx, "list the nodes with sessions",
		`select distinct node_id from sessions where node_id <> $1`, own)
}
