package queue

import (
	"context"
	"fmt"
)

// Backlog counts the queued and running jobs of all servers that share the store.
type Backlog struct {
	Queued, Running int64
	// Oldest is the time when the oldest queued job was enqueued, in ms; 0 without queued jobs.
	Oldest int64
}

// Backlog counts the jobs that are queued or running now.
func (q *Queue) Backlog(ctx context.Context) (b Backlog, err error) {
	err = q.db.Read().QueryRowContext(ctx, `select coalesce(sum(case when state = 'queued' then 1 else 0 end), 0),
		coalesce(sum(case when state = 'running' then 1 else 0 end), 0),
		coalesce(min(case when state = 'queued' then created_at end), 0)
		from jobs where state in ('queued', 'running')`).Scan(&b.Queued, &b.Running, &b.Oldest)
	if err != nil {
		return Backlog{}, fmt.Errorf("read the queue's backlog: %w", err)
	}
	return b, nil
}
