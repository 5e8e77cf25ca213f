package queue

import (
	"context"
	"errors"

	"harness/internal/platform/database"
)

// Import stores a job of another control plane as a job of this node, unless a job with its id exists. The job stays
// queued or running. When the queue starts, it treats such a job like a job of a killed server.
func Import(ctx context.Context, tx database.Tx, job Job, nodeID string) (imported bool, err error) {
	if _, err := readJob(ctx, tx, job.ID); !errors.Is(err, ErrNotFound) {
		return false, err
	}
	job.dedupeMode, job.nodeID = SingleFlight, nodeID
	return true, insertJob(ctx, tx, job)
}
