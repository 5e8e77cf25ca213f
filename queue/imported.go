package queue

import (
	"context"
	"errors"

	"harness/internal/platform/database"
)

// Import stores a job of another control plane as this node's, unless there is one of its id. One that was queued or
// running there is so here, until the queue starts: it treats it as a server's that was killed.
func Import(ctx context.Context, tx database.Tx, job Job, nodeID string) (imported bool, err error) {
	if _, err := readJob(ctx, tx, job.ID); !errors.Is(err, ErrNotFound) {
		return false, err
	}
	job.dedupeMode, job.nodeID = SingleFlight, nodeID
	return true, insertJob(ctx, tx, job)
}
