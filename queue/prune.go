package queue

import (
	"context"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Prune removes ended jobs of the whole store by a retention rule, in addition to the limit of each project
// (Policy.Retention). It keeps jobs with an owed reconciliation.
func Prune(ctx context.Context, p journal.Pruner, keep journal.Retention) error {
	err := p.Ended(ctx, keep, journal.Ended{Table: "jobs", Key: "id", At: "completed_at",
		Over: `state in ('completed', 'failed', 'canceled')`, Only: "reconcile_at is null"})
	if err != nil {
		return err
	}
	return p.Rows(ctx, "job_lanes", "project_id",
		`not exists (select 1 from jobs where jobs.project_id = job_lanes.project_id)`)
}

// Remembered reports whether an open job names a session in its checkpoint and may resume in it.
func Remembered(ctx context.Context, q database.Querier, sessionID string) (bool, error) {
	checkpoints, err := database.ReadTexts(ctx, q, "read the checkpoints of jobs", `select checkpoint from jobs where `+
		activeStates+` and checkpoint <> ''`)
	return slices.ContainsFunc(checkpoints, func(checkpoint string) bool {
		return strings.Contains(checkpoint, sessionID)
	}), err
}
