package tasks

import (
	"context"

	"harness/internal/platform/journal"
)

// Prune removes ended tasks beyond the retention, and the remaining data of deleted sessions. A task's events stay as
// long as the journal's.
func Prune(ctx context.Context, p journal.Pruner, keep journal.Retention) error {
	err := p.Ended(ctx, keep, journal.Ended{Table: "tasks", Key: "id", At: "ended_at", Over: "ended_at > 0"})
	if err != nil {
		return err
	}
	for table, key := range map[string]string{"tasks": "id", "task_marks": "id", "task_sessions": "session_id"} {
		if err := p.Rows(ctx, table, key, `not exists (select 1 from sessions where sessions.id = `+table+
			`.session_id)`); err != nil {
			return err
		}
	}
	return nil
}
