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
	rows, err := log.SweepEnded(ctx, q, now, keep.Age, keep.Max, "tasks", "ended_at")
	pruned("tasks", rows)
	if err != nil {
		return err
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
