package ledger

import (
	"context"
	"time"

	"harness/database"
	"harness/journal"
)

// Retention is how long, and how many, calls that are over are kept; 0 keeps all.
type Retention struct {
	Age time.Duration
	Max int
}

// Prune removes what a retention keeps no longer, and the access of sessions that are gone; pruned is told of what went
// by kind.
func Prune(ctx context.Context, log *journal.Journal, q database.Querier, now time.Time, keep Retention,
	pruned func(kind string, rows int64)) error {
	before, err := journal.Cutoff(ctx, q, now.UnixMilli(), keep.Age, keep.Max,
		`select settled_at from tool_calls where settled_at > 0 order by settled_at desc, id desc`)
	if err != nil {
		return err
	}
	if before > 0 {
		rows, err := log.SweepRows(ctx, "tool_calls", "id", `settled_at > 0 and settled_at < $1`, before)
		pruned("tool_calls", rows)
		if err != nil {
			return err
		}
	}
	rows, err := log.SweepRows(ctx, "tool_grants", "grant_id",
		`not exists (select 1 from sessions where id = tool_grants.session_id)`)
	pruned("tool_grants", rows)
	return err
}
