package tasks

import (
	"context"
	"time"

	"harness/database"
	"harness/journal"
)

// Retention is how long, and how many, tasks that are over are kept; 0 keeps all.
type Retention struct {
	Age time.Duration
	Max int
}

// Prune removes what a retention keeps no longer, and what is left of sessions that are gone; pruned is told of what
// went by kind. The events of a task stay as long as the journal's.
func Prune(ctx context.Context, log *journal.Journal, q database.Querier, now time.Time, keep Retention,
	pruned func(kind string, rows int64)) error {
	before, err := journal.Cutoff(ctx, q, now.UnixMilli(), keep.Age, keep.Max,
		`select ended_at from tasks where ended_at > 0 order by ended_at desc, id desc`)
	if err != nil {
		return err
	}
	if before > 0 {
		rows, err := log.SweepRows(ctx, "tasks", "id", `ended_at > 0 and ended_at < $1`, before)
		pruned("tasks", rows)
		if err != nil {
			return err
		}
	}
	for table, key := range map[string]string{"tasks": "id", "task_marks": "id", "task_sessions": "session_id"} {
		rows, err := log.SweepRows(ctx, table, key,
			`not exists (select 1 from sessions where sessions.id = `+table+`.session_id)`)
		pruned(table, rows)
		if err != nil {
			return err
		}
	}
	return nil
}
