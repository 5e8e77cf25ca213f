package queue

import (
	"context"
	"errors"

	"harness/internal/platform/database"
)

// Import stores a job of another control plane as this node's, unless a job with its id exists. It keeps the state
// queued or running; at its start the queue treats such a job like one of a killed server.
func Import(ctx context.Context, tx database.Tx, job Job, nodeID string) (imported bool, err error) {
	if _, err := readJob(ctx, tx, job.ID); !errors.Is(err, ErrNotFound) {
		return false, err
	}
	job.dedupeMode, job.nodeID = SingleFlight, nodeID
	return true, insertJob(ctx, tx, job)
}
