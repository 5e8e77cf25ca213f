package operations

import (
	"context"

	"harness/queue"
)

// Jobs has the methods of the queue that the operations need. *queue.Queue implements it.
type Jobs interface {
	// Job returns a job: queue.ErrNotFound.
	Job(ctx context.Context, id string) (queue.Job, error)
	// Jobs lists a project's jobs, oldest first, in one state or in all (""). An unknown project has none.
	Jobs(ctx context.Context, projectID string, state queue.State) ([]queue.Job, error)
	// Cancel ends a queued job or requests the end of a running one: queue.ErrNotFound, *queue.TerminalError.
	Cancel(ctx context.Context, id, reason string) (queue.Job, error)
	// Counts returns the figures for health.
	Counts(ctx context.Context) (queue.Counts, error)
	// Browse lists jobs of all projects. queue.ErrBadCursor.
	Browse(ctx context.Context, want queue.Browse) (queue.JobPage, error)
	// Again enqueues a finished job once more. queue.ErrNotFound, queue.ErrNotOver, *queue.Error.
	Again(ctx context.Context, id string) (queue.EnqueueResult, error)
	// CancelAll cancels many jobs.
	CancelAll(ctx context.Context, filter queue.Filter, reason string) (canceled []queue.Job, more bool, err error)
}

// JobAdmin lists and cancels jobs.
type JobAdmin struct {
	access *Access
	jobs   Jobs
}

// QueueEnabled reports whether there is a job queue.
func (s *JobAdmin) QueueEnabled() bool { return s.jobs != nil }

// Job returns a job: queue.ErrNotFound, ErrQueueOff.
func (s *JobAdmin) Job(ctx context.Context, jobID string) (queue.Job, error) {
	if s.jobs == nil {
		return queue.Job{}, ErrQueueOff
	}
	if err := s.access.CheckJob(ctx, jobID); err != nil {
		return queue.Job{}, err
	}
	return s.jobs.Job(ctx, jobID)
}

// Jobs lists a project's jobs, oldest first, in one state or in all (""). An unknown project has none. ErrQueueOff.
func (s *JobAdmin) Jobs(ctx context.Context, projectID string, state queue.State) ([]queue.Job, error) {
	if s.jobs == nil {
		return nil, ErrQueueOff
	}
	if err := s.access.CheckProject(ctx, projectID); err != nil {
		return nil, err
	}
	return s.jobs.Jobs(ctx, projectID, state)
}

// CancelJob ends a queued job or requests the end of a running one: queue.ErrNotFound, *queue.TerminalError,
// ErrQueueOff.
func (s *JobAdmin) CancelJob(ctx context.Context, jobID, reason string) (queue.Job, error) {
	if s.jobs == nil {
		return queue.Job{}, ErrQueueOff
	}
	if err := s.access.CheckJob(ctx, jobID); err != nil {
		return queue.Job{}, err
	}
	return s.jobs.Cancel(ctx, jobID, reason)
}

// CountJobs returns the figures of the queue. ErrQueueOff.
func (s *JobAdmin) CountJobs(ctx context.Context) (queue.Counts, error) {
	if s.jobs == nil {
		return queue.Counts{}, ErrQueueOff
	}
	return s.jobs.Counts(ctx)
}

// BrowseJobs lists jobs of all projects, newest first. queue.ErrBadCursor, ErrQueueOff.
func (s *JobAdmin) BrowseJobs(ctx context.Context, want queue.Browse) (queue.JobPage, error) {
	if s.jobs == nil {
		return queue.JobPage{}, ErrQueueOff
	}
	if err := reportLimit(&want.Limit); err != nil {
		return queue.JobPage{}, err
	}
	return s.jobs.Browse(ctx, want)
}

// JobAgain enqueues a finished job once more. queue.ErrNotFound, queue.ErrNotOver, *queue.Error, ErrQueueOff.
func (s *JobAdmin) JobAgain(ctx context.Context, jobID string) (queue.EnqueueResult, error) {
	if s.jobs == nil {
		return queue.EnqueueResult{}, ErrQueueOff
	}
	return s.jobs.Again(ctx, jobID)
}

// CancelJobs cancels the unfinished jobs that match a filter, and reports whether more are left. *InvalidError for an
// empty filter; ErrQueueOff.
func (s *JobAdmin) CancelJobs(ctx context.Context, filter queue.Filter, reason string) ([]queue.Job, bool, error) {
	if s.jobs == nil {
		return nil, false, ErrQueueOff
	}
	if filter == (queue.Filter{}) {
		return nil, false, invalid("state", "Select jobs: give at least one of state, type, project, session, since and until")
	}
	return s.jobs.CancelAll(ctx, filter, reason)
}
