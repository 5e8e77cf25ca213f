package operations

import (
	"context"

	"harness/internal/services/session"
	"harness/queue"
	"harness/stream"
)

// MaxBoard is how many rows of jobs, events or usage a client may ask for at once; it gets defaultPage when it names
// none.
const MaxBoard = 500

// BrowseJobs lists jobs of all projects, the youngest first. queue.ErrBadCursor, ErrQueueOff.
func (s *Service) BrowseJobs(ctx context.Context, want queue.Browse) (queue.JobPage, error) {
	if s.opts.Jobs == nil {
		return queue.JobPage{}, ErrQueueOff
	}
	if err := boardLimit(&want.Limit); err != nil {
		return queue.JobPage{}, err
	}
	return s.opts.Jobs.Browse(ctx, want)
}

// JobAgain enqueues a job that ended once more. queue.ErrNotFound, queue.ErrNotOver, *queue.Error, ErrQueueOff.
func (s *Service) JobAgain(ctx context.Context, jobID string) (queue.EnqueueResult, error) {
	if s.opts.Jobs == nil {
		return queue.EnqueueResult{}, ErrQueueOff
	}
	return s.opts.Jobs.Again(ctx, jobID)
}

// CancelJobs cancels the jobs of a filter that are not over, and tells whether more are left. *InvalidError for a
// filter that selects all there are; ErrQueueOff.
func (s *Service) CancelJobs(ctx context.Context, filter queue.Filter, reason string) ([]queue.Job, bool, error) {
	if s.opts.Jobs == nil {
		return nil, false, ErrQueueOff
	}
	if filter == (queue.Filter{}) {
		return nil, false, invalid("state", "Say which jobs: give at least one of state, type, project, session, since and until")
	}
	return s.opts.Jobs.CancelAll(ctx, filter, reason)
}

// Events lists what happened.
func (s *Service) Events(ctx context.Context, want stream.Browse) (stream.BrowsedPage, error) {
	if want.After != nil && want.Before != nil {
		return stream.BrowsedPage{}, invalid("after", "Give before or after, not both")
	}
	if err := boardLimit(&want.Limit); err != nil {
		return stream.BrowsedPage{}, err
	}
	return s.opts.Events.Browse(ctx, want)
}

// Event reads one event by its position on the stream; false when it is not kept.
func (s *Service) Event(ctx context.Context, cursor int64) (stream.BrowsedEvent, bool, error) {
	return s.opts.Events.Event(ctx, cursor)
}

// Usage adds up what the runtimes of sessions told they used.
func (s *Service) Usage(ctx context.Context, want session.UsageQuery) ([]session.Usage, session.Usage, error) {
	if err := boardLimit(&want.Limit); err != nil {
		return nil, session.Usage{}, err
	}
	return s.opts.Sessions.Usage(ctx, want)
}

func boardLimit(limit *int) error {
	var p problems
	p.count("limit", *limit, MaxBoard)
	if *limit == 0 {
		*limit = defaultPage
	}
	return p.err()
}
