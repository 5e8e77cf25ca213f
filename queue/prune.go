package queue

import (
	"context"
	"slices"
	"strings"
	"time"

	"harness/database"
	"harness/journal"
)

// Retention is how long, and how many, ended jobs are kept in the whole store, besides the bound of each project
// (Policy.Retention); 0 keeps all. Jobs that still owe something stay.
type Retention struct {
	Age time.Duration
	Max int
}

// Prune removes ended jobs a retention keeps no longer, in small transactions, and tells pruned of what went by table.
func Prune(ctx context.Context, j *journal.Journal, q database.Querier, now time.Time, keep Retention,
	pruned func(table string, rows int64)) error {
	const ended = `state in ('completed', 'failed', 'canceled')`
	before, err := journal.Cutoff(ctx, q, now.UnixMilli(), keep.Age, keep.Max, `select completed_at from jobs where `+
		ended+` order by completed_at desc, id desc`)
	if err != nil {
		return err
	}
	rows, err := j.SweepRows(ctx, "jobs", "id", ended+` and completed_at < $1 and reconcile_at is null`, before)
	if pruned("jobs", rows); err != nil {
		return err
	}
	rows, err = j.SweepRows(ctx, "job_lanes", "project_id",
		`not exists (select 1 from jobs where jobs.project_id = job_lanes.project_id)`)
	pruned("job_lanes", rows)
	return err
}

// Remembered tells whether a job that has not ended remembers a session in its checkpoint, and may go on in it.
func Remembered(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	checkpoints, err := database.ReadTexts(ctx, q, "read the checkpoints of jobs", `select checkpoint from jobs where `+
		activeStates+` and checkpoint <> ''`)
	return slices.ContainsFunc(checkpoints, func(checkpoint string) bool {
		return strings.Contains(checkpoint, sessionID)
	}), err
}
