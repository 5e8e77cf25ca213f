package cluster

import (
	"context"
	"time"
)

// Sweeper removes rows in small transactions; *journal.Journal implements it.
type Sweeper interface {
	SweepRows(ctx context.Context, table, key, gone string, args ...any) (removed int64, err error)
}

// Prune forgets nodes that were not heard of for an age (0: none), and tells pruned of what went by table. Before that,
// the rows of another table that belong to them: those of the column node_id, by which that table is keyed.
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
