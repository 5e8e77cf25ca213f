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
	rows, err := log.SweepEnded(ctx, q, now, keep.Age, keep.Max, "tool_calls", "settled_at")
	pruned("tool_calls", rows)
	if err != nil {
		return err
	}
	rows, err = log.SweepRows(ctx, "tool_grants", "grant_id",
		`not exists (select 1 from sessions where id = tool_grants.session_id)`)
	pruned("tool_grants", rows)
	return err
}
