package cluster

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// Over reports whether a node's lease has expired and nothing that it ran continues. Its runtimes stop by themselves,
// or another node ended them. For one lease's duration after a failover of the store, no lease counts as expired.
func (l *Lease) Over(ctx context.Context, q database.Querier, nodeID string) (bool, error) {
	var lapsed int64
	err := q.QueryRowContext(ctx, `select count(*) from nodes where node_id = $1 and lease_until <= `+clock(l.opts.DB)+
		` and (guarded = 1 or process = '') and `+trusted(l.opts.DB, "$2"), nodeID, l.ttl().Milliseconds()).Scan(&lapsed)
	if err != nil {
		return false, fmt.Errorf("read whether node %s lives: %w", nodeID, err)
	}
	return lapsed > 0, nil
}
