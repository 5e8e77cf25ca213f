package cluster

import (
	"context"
	"time"
)

// Sweeper removes rows in small transactions; *journal.Journal implements it.
type Sweeper interface {
	SweepRows(ctx context.Context, table, key, gone string, args ...any) (removed int64, err error)
}

// Prune deletes nodes without a heartbeat for longer than age (0 deletes none), and calls pruned with the count of each
// table. Before that it deletes their rows of another table, which is keyed by the column node_id.
func Prune(ctx context.Context, s Sweeper, now time.Time, age time.Duration, table string,
	pruned func(table string, rows int64)) error {
	if age == 0 {
		return nil
	}
	before := now.Add(-age).UnixMilli()
	rows, err := s.SweepRows(ctx, table, "node_id", `exists (select 1 from nodes n where n.node_id = `+table+
		`.node_id and n.seen_at < $1)`, before)
	if pruned(table, rows); err != nil {
		return err
	}
	rows, err = s.SweepRows(ctx, "nodes", "node_id", `seen_at < $1`, before)
	pruned("nodes", rows)
	return err
}
