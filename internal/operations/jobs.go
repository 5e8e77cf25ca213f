package operations

import (
	"context"

	"harness/queue"
)

// QueueEnabled tells whether there is a job queue.
func (s *Service) QueueEnabled() bool { return s.opts.Jobs != nil }

// Job reads a job: queue.ErrNotFound, ErrQueueOff.
func (s *Service) Job(ctx context.Context, jobID string) (queue.Job, error) {
	if s.opts.Jobs == nil {
		return queue.Job{}, ErrQueueOff
	}
	if err := s.CheckJob(ctx, jobID); err != nil {
		return queue.Job{}, err
	}
	return s.opts.Jobs.Job(ctx, jobID)
}

// Jobs lists a project's jobs, oldest first, of one state or of all (""). An unknown project has none. ErrQueueOff.
func (s *Service) Jobs(ctx context.Context, projectID string, state queue.State) ([]queue.Job, error) {
	if s.opts.Jobs == nil {
		return nil, ErrQueueOff
	}
	if err := s.CheckProject(ctx, projectID); err != nil {
		return nil, err
	}
	return s.opts.Jobs.Jobs(ctx, projectID, state)
}

// CancelJob ends a queued job or asks a running one to end: queue.ErrNotFound, *queue.TerminalError, ErrQueueOff.
func (s *Service) CancelJob(ctx context.Context, jobID, reason string) (queue.Job, error) {
	if s.opts.Jobs == nil {
		return queue.Job{}, ErrQueueOff
	}
	if err := s.CheckJob(ctx, jobID); err != nil {
		return queue.Job{}, err
	}
	return s.opts.Jobs.Cancel(ctx, jobID, reason)
}

// CountJobs are the figures of the queue. ErrQueueOff.
func (s *Service) CountJobs(ctx context.Context) (queue.Counts, error) {
	if s.opts.Jobs == nil {
		return queue.Counts{}, ErrQueueOff
	}
	return s.opts.Jobs.Counts(ctx)
}
