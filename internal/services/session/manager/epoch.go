package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// notOwned is the epoch of a session in the view that another node has taken.
const notOwned = -1

// fence remembers, for as long as no node takes anything from another, the epochs of sessions that were written to; it
// is notOwned for those of other nodes.
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
	if takeovers != s.fence.takeovers || len(s.fence.epochs) > keptThreads {
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
			now = notOwned
		}
		s.fence.epochs[sessionID] = now
	}
	return now != notOwned && now == epoch, nil
}
