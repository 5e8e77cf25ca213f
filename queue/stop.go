package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// Stop stops accepting jobs, lets running ones finish for Drain, then asks them to end. After the grace period it ends
// them as canceled. Queued jobs stay queued; with Options.LeaveRunning resumable jobs stay running. Stop waits for all
// of that; it logs and abandons a handler that ignores its context. Calling it twice is allowed: later calls wait for
// the first, until their ctx ends.
func (q *Queue) Stop(ctx context.Context) error {
	q.lifecycle.Lock()
	before := q.state
	q.state = stopping
	q.lifecycle.Unlock()
	switch before {
	case stopping:
		select {
		case <-q.stopped:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	case fresh:
		close(q.stopped)
		return nil
	}
	defer close(q.stopped)
	err := q.drain(ctx)
	_, stopping := q.loops.Stop(context.WithoutCancel(ctx), "the queue")
	if !q.handlersEnd(ctx) {
		q.log.Error().Msg("a job's handler ignores the shutdown; abandoning it")
	}
	return errors.Join(err, stopping)
}

func (q *Queue) drain(ctx context.Context) error {
	q.accepts.Store(false)
	q.claiming.Lock() // a claim in progress becomes a run to wait for
	q.draining = true
	q.claiming.Unlock()
	if q.idle(ctx, q.opts.Drain) {
		return nil
	}
	var errs []error
	var detached []*Run
	for _, run := range q.localRuns() {
		if q.leaves(run) {
			run.lose(ErrDetached)
			detached = append(detached, run)
			continue
		}
		if _, err := q.requestEnd(ctx, run); err != nil && !errors.Is(err, errFenced) {
			errs = append(errs, err)
		}
		run.interruptOnce()
		run.abort(ErrShutdown)
	}
	ended := q.idle(ctx, q.policy.CancelGrace)
	for _, run := range detached {
		if err := q.leave(ctx, run); err != nil && !errors.Is(err, errFenced) {
			errs = append(errs, err)
		}
	}
	if ended {
		return errors.Join(errs...)
	}
	for _, run := range q.localRuns() {
		if q.leaves(run) {
			continue
		}
		if err := q.forceEnd(ctx, run); err != nil && !errors.Is(err, errFenced) {
			errs = append(errs, err)
		}
		run.lose(ErrShutdown)
	}
	return errors.Join(errs...)
}

// leaves reports whether Stop leaves a run's job to this node's next process. It does not leave a job that is being
// canceled.
func (q *Queue) leaves(run *Run) bool {
	select {
	case <-run.interrupted:
		return false
	default:
	}
	return q.opts.LeaveRunning && q.definitions[run.job.Type].Resumable
}

// leave keeps a job running for this node's next process. It queues a job without progress as if the job never started.
func (q *Queue) leave(ctx context.Context, run *Run) error {
	_, err := q.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		d := q.decider()
		job, err := d.owned(ctx, tx, run.attempt())
		if err != nil || job.checkpoint != nil || job.CancelRequestedAt != nil {
			return nil, err
		}
		job.Attempts--
		_, events, err := d.requeue(ctx, tx, job, errorRecovered, q.now())
		return events, err
	})
	return err
}

func (q *Queue) localRuns() []*Run {
	q.mu.Lock()
	defer q.mu.Unlock()
	runs := make([]*Run, 0, len(q.runs))
	for _, run := range q.runs {
		runs = append(runs, run)
	}
	return runs
}

// requestEnd marks a run's job as canceled by the shutdown: the job ends as canceled, regardless of the handler's
// result.
func (q *Queue) requestEnd(ctx context.Context, run *Run) ([]journal.Record, error) {
	return q.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		job, err := q.decider().owned(ctx, tx, run.attempt())
		if err != nil {
			return nil, err
		}
		if job.CancelRequestedAt == nil {
			now := q.now()
			job.CancelRequestedAt, job.cancelReason = &now, errorShutdown
		}
		return nil, saveJob(ctx, tx, job)
	})
}

func (q *Queue) forceEnd(ctx context.Context, run *Run) error {
	err := q.decide(ctx, func(ctx context.Context, tx database.Tx, d decider) ([]journal.Event, error) {
		job, err := d.owned(ctx, tx, run.attempt())
		if err != nil {
			return nil, err
		}
		return d.end(ctx, tx, &job, ending{state: Canceled, reason: errorShutdownTimeout}, q.now())
	})
	if err != nil {
		return fmt.Errorf("end job %s at shutdown: %w", run.job.ID, err)
	}
	return nil
}

// idle waits until this process has no runs, at most for patience.
func (q *Queue) idle(ctx context.Context, patience time.Duration) bool {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	stop := context.AfterFunc(bounded, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.runsDone.Broadcast()
	})
	defer stop()
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.runs) > 0 && bounded.Err() == nil {
		q.runsDone.Wait()
	}
	return len(q.runs) == 0
}

func (q *Queue) handlersEnd(ctx context.Context) bool {
	ended := make(chan struct{})
	go func() { // this goroutine ends when the handlers end
		q.handlers.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return true
	case <-time.After(q.policy.CancelGrace):
	case <-ctx.Done():
	}
	return false
}
