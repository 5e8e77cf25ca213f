package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// maxProgress bounds one progress report, in bytes.
const maxProgress = 16 << 10

// Run is one attempt at a job, as its handler sees it. Methods are safe for concurrent use.
type Run struct {
	queue *Queue
	job   Job
	begun time.Time
	// since is the time when this process started the attempt, by its monotonic clock.
	since time.Time
	ctx   context.Context //nolint:containedctx // the handler's context belongs to the attempt, which many goroutines end
	abort context.CancelCauseFunc

	interrupted chan struct{}
	interrupt   sync.Once
	lost        chan struct{}
	losing      sync.Once

	mu       sync.Mutex
	progress json.RawMessage
	reached  json.RawMessage // the checkpoint
	reported wake.Signal
}

// Job returns the job as it was when the attempt started.
func (r *Run) Job() Job { return r.job }

func (r *Run) attempt() attempt { return attempt{r.job.ID, r.queue.owner, r.job.Attempts} }

// Progress reports the attempt's progress, as any JSON of at most 16 KiB. Only the latest report within an interval
// becomes an event; none is stored. Progress drops an invalid report, because progress never fails a job.
func (r *Run) Progress(report json.RawMessage) {
	if len(report) == 0 || len(report) > maxProgress || !json.Valid(report) {
		r.queue.log.Warn().Str("job", r.job.ID).Int("bytes", len(report)).
			Msg("a progress report is not JSON or too long; it is dropped")
		return
	}
	r.mu.Lock()
	r.progress = validText(report)
	r.mu.Unlock()
	r.reported.Set()
}

func (r *Run) takeProgress() json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	report := r.progress
	r.progress = nil
	return report
}

// SetContext stores the attempt's thread and turn ("" for unknown), so that a cancel on any node finds the turn to
// interrupt. It also stores the checkpoint (SetCheckpoint). It returns ErrLost if the job no longer belongs to this
// attempt.
func (r *Run) SetContext(ctx context.Context, threadID, turnID string, checkpoint json.RawMessage) error {
	return r.change(ctx, checkpoint, func(job *Job) { job.ThreadID, job.TurnID = textOrNil(threadID), textOrNil(turnID) })
}

// SetCheckpoint stores the attempt's progress, nil for none. Another process or a later attempt of a Resumable
// definition reads it with Checkpoint. It returns ErrLost if the job no longer belongs to this attempt.
func (r *Run) SetCheckpoint(ctx context.Context, checkpoint json.RawMessage) error {
	return r.change(ctx, checkpoint, func(*Job) {})
}

// Checkpoint returns the last stored checkpoint, nil for none.
func (r *Run) Checkpoint() json.RawMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reached
}

func (r *Run) change(ctx context.Context, checkpoint json.RawMessage, edit func(*Job)) error {
	d := r.queue.decider()
	_, err := r.queue.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		job, err := d.owned(ctx, tx, r.attempt())
		if err != nil {
			return nil, err
		}
		edit(&job)
		job.checkpoint = checkpoint
		return nil, saveJob(ctx, tx, job)
	})
	if errors.Is(err, errFenced) {
		return ErrLost
	}
	if err == nil {
		r.mu.Lock()
		r.reached = checkpoint
		r.mu.Unlock()
	}
	return err
}

func textOrNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (r *Run) interruptOnce() { r.interrupt.Do(func() { close(r.interrupted) }) }

// lose ends the attempt without an outcome, because the job has ended or belongs to another process.
func (r *Run) lose(cause error) {
	r.losing.Do(func() {
		r.abort(cause)
		close(r.lost)
	})
}

// begin starts an attempt at a job that this process claimed.
func (q *Queue) begin(job Job) {
	ctx, abort := context.WithCancelCause(q.running)
	run := &Run{queue: q, job: job, begun: q.opts.Clock(), since: time.Now(), ctx: ctx, abort: abort, interrupted: make(chan struct{}),
		lost: make(chan struct{}), reached: job.checkpoint,
		reported: wake.New()}
	q.mu.Lock()
	q.runs[job.ID] = run
	q.begun[job.ID] = job.Attempts
	q.mu.Unlock()
	q.loops.Go(func(context.Context) {
		defer q.release(run)
		q.attempt(run)
	})
}

func (q *Queue) release(run *Run) {
	run.abort(ErrCanceled)
	q.mu.Lock()
	if q.runs[run.job.ID] == run {
		delete(q.runs, run.job.ID)
	}
	q.runsDone.Broadcast()
	q.mu.Unlock()
	q.wake.Set()
}

// attempt runs the handler and records its outcome. If a handler does not end within the grace period after its
// timeout, attempt abandons it: the job ends, and a later result is dropped.
func (q *Queue) attempt(r *Run) {
	definition := q.definitions[r.job.Type]
	done := make(chan outcome, 1) // buffered, so that an abandoned handler can end
	q.handlers.Go(func() { done <- r.call(definition) })

	limit := definition.Timeout
	if limit <= 0 {
		limit = q.policy.DefaultTimeout
	}
	timeout := time.NewTimer(r.left(limit))
	defer timeout.Stop()
	var (
		timedOut        bool
		grace, progress <-chan time.Time
		interrupted     = r.interrupted
		last            time.Time
	)
	for {
		select {
		case out := <-done:
			if out.err != nil && errors.Is(context.Cause(r.ctx), ErrDetached) {
				return // the attempt was detached; a loss is logged elsewhere
			}
			if timedOut {
				out = outcome{err: ErrTimeout}
			}
			out.progress = r.takeProgress()
			q.finish(r, out)
			return
		case <-timeout.C:
			timedOut = true
			r.abort(ErrTimeout)
			grace = time.After(q.policy.CancelGrace)
		case <-grace:
			q.log.Error().Str("job", r.job.ID).Str("type", r.job.Type).
				Msg("a job's handler ignores its timeout; abandoning it")
			q.finish(r, outcome{err: ErrTimeout})
			return
		case <-interrupted:
			interrupted = nil
			q.interrupt(r, definition)
		case <-r.lost:
			return
		case <-r.reported:
			if progress == nil {
				progress = time.After(max(0, q.opts.ProgressInterval-time.Since(last)))
			}
		case <-progress:
			progress, last = nil, time.Now()
			q.report(r)
		}
	}
}

// left returns the rest of an attempt's time, which counts from its start in any process. A turn that ended while no
// process ran can still be read.
func (r *Run) left(limit time.Duration) time.Duration {
	if r.Checkpoint() == nil || r.job.LastAttemptAt == nil {
		return limit
	}
	return min(limit, max(r.queue.opts.Lease, limit-r.begun.Sub(time.UnixMilli(*r.job.LastAttemptAt))))
}

// call runs the handler and converts its panics into errors.
func (r *Run) call(definition Definition) (out outcome) {
	defer func() {
		if v := recover(); v != nil {
			r.queue.log.Error().Str("job", r.job.ID).Str("type", r.job.Type).Interface("panic", v).Bytes("stack", debug.Stack()).
				Msg("a job's handler panicked")
			out = outcome{err: fmt.Errorf("job handler panicked: %v", v)}
		}
	}()
	result, err := definition.Run(r.ctx, r)
	if err != nil {
		return outcome{err: err}
	}
	if len(result) == 0 {
		result = json.RawMessage("null")
	}
	if !json.Valid(result) {
		return outcome{err: errors.New("job result is not JSON")}
	}
	return outcome{result: validText(result)}
}

// interrupt asks the handler's turn to end, best effort and concurrently with the run, which keeps its time limit.
func (q *Queue) interrupt(r *Run, definition Definition) {
	if definition.Interrupt == nil {
		return
	}
	q.handlers.Go(func() {
		ctx, cancel := context.WithTimeout(q.running, q.policy.CancelGrace)
		defer cancel()
		job, err := q.Job(ctx, r.job.ID) // includes the running context that was stored since the start
		if err == nil {
			err = definition.Interrupt(ctx, job)
		}
		if err != nil {
			q.log.Warn().Err(err).Str("job", r.job.ID).
				Msg("cannot interrupt a canceled job's turn; it is forced to end after its grace")
		}
	})
}

// report publishes the latest progress if the attempt owns the job. It does not wait: the journal keeps the order of
// submissions.
func (q *Queue) report(r *Run) {
	report := r.takeProgress()
	if report == nil {
		return
	}
	d := q.decider()
	err := q.journal.Submit(r.ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		job, err := d.owned(ctx, tx, r.attempt())
		if err != nil {
			return nil, err
		}
		event, err := jobEvent(eventProgress, job, q.now(), report)
		return []journal.Event{event}, err
	}, nil)
	if err != nil {
		q.log.Debug().Err(err).Str("job", r.job.ID).Msg("job progress not published")
	}
}

// finish records an attempt's outcome. It waits while the store is unreachable, and drops the outcome if the job was
// lost in between.
func (q *Queue) finish(r *Run, out outcome) {
	err := q.decide(q.running, func(ctx context.Context, tx database.Tx, d decider) ([]journal.Event, error) {
		_, events, err := d.finish(ctx, tx, r.attempt(), out, q.now())
		return events, err
	})
	switch {
	case err == nil:
	case errors.Is(err, errFenced):
		q.log.Debug().Str("job", r.job.ID).Msg("dropping a late outcome: the job has ended or belongs to another process")
	default:
		q.log.Error().Err(err).Str("job", r.job.ID).
			Msg("cannot store a job's outcome; the job is recovered when its lease ends")
	}
}
