package queue

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// dispatch is the only goroutine that polls for work: after each event, at the next known deadline, and every Poll.
func (q *Queue) dispatch(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-q.wake:
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		next, err := q.poll(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, journal.ErrStopped) {
			q.log.Warn().Err(err).Msg("the queue's dispatcher failed; retrying")
		}
		timer.Reset(next)
	}
}

// overview is a summary of the store that the dispatcher reads without the decision lock.
type overview struct {
	running []Job
	// queued counts the queued jobs that can run here; unrunnable counts jobs of types unknown here.
	queued     int
	unrunnable map[string]int
	// ready is the time when the next queued job may start, in ms; 0 means now.
	ready int64
	// owed is the time when the next reconciliation is due, in ms; 0 for none.
	owed int64
}

func (q *Queue) overview(ctx context.Context) (view overview, err error) {
	if view.running, err = readJobs(ctx, q.db.Read(), `state = 'running'`); err != nil {
		return view, err
	}
	if err = q.readQueued(ctx, &view); err != nil {
		return view, err
	}
	mine, args := q.owing(1)
	err = q.db.Read().QueryRowContext(ctx,
		`select coalesce(min(reconcile_at), 0) from jobs where reconcile_at is not null and `+mine, args...).Scan(&view.owed)
	if err != nil {
		return view, fmt.Errorf("find owed reconciliations: %w", err)
	}
	return view, nil
}

func (q *Queue) readQueued(ctx context.Context, view *overview) error {
	view.unrunnable = map[string]int{}
	return database.ReadEach(ctx, q.db.Read(), "count queued jobs", func(row database.Row) error {
		var (
			name  string
			n     int
			ready int64
		)
		if err := row.Scan(&name, &n, &ready); err != nil {
			return err
		}
		name = database.DecodeText(name)
		if _, known := q.definitions[name]; !known {
			view.unrunnable[name] = n
			return nil
		}
		if view.queued == 0 || ready < view.ready {
			view.ready = ready
		}
		view.queued += n
		return nil
	}, `select type, count(*), min(coalesce(next_attempt_at, 0)) from jobs where state = 'queued' group by type`)
}

// Unrunnable counts the queued jobs of types unknown to this node, by type, at the last poll. Only a node that knows
// the type can run them.
func (q *Queue) Unrunnable() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return maps.Clone(q.unrunnable)
}

// noteUnrunnable stores the counts, and logs each type once.
func (q *Queue) noteUnrunnable(now map[string]int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.unrunnable = now
	for name, n := range now {
		if !q.warned[name] {
			q.warned[name] = true
			q.log.Warn().Str("type", name).Int("queued", n).
				Msg("queued jobs have a type this server does not know; another server may run them, or cancel them")
		}
	}
}

// poll does the due work and returns the time until the next poll.
func (q *Queue) poll(ctx context.Context) (time.Duration, error) {
	view, err := q.overview(ctx)
	if err != nil {
		return q.opts.Poll, err
	}
	q.follow(view.running)
	q.noteUnrunnable(view.unrunnable)
	now := q.now()
	wait := q.opts.Poll.Milliseconds()
	expired := q.leases.expired(view.running, time.Now())
	overdue := len(expired) > 0
	for _, job := range view.running {
		if job.CancelRequestedAt == nil {
			continue
		}
		due := *job.CancelRequestedAt + q.policy.CancelGrace.Milliseconds()
		if due <= now {
			overdue = true
			continue
		}
		wait = min(wait, due-now)
	}
	if overdue {
		if err := q.settleOverdue(ctx, expired); err != nil {
			return q.opts.Poll, err
		}
		q.wake.Set()
	}
	if view.owed > 0 {
		if view.owed > now {
			wait = min(wait, view.owed-now)
		} else if err := q.reconcile(ctx); err != nil {
			return q.opts.Poll, err
		}
	}
	if view.queued > 0 && len(view.running) < q.policy.Concurrency {
		if view.ready > now {
			wait = min(wait, view.ready-now)
		} else if err := q.claim(ctx); err != nil {
			return q.opts.Poll, err
		}
	}
	return time.Duration(max(wait, 1)) * time.Millisecond, nil
}

// settleOverdue recovers jobs with expired leases. If the store refused this process's renewals, the process keeps its
// jobs unless another process claimed them.
func (q *Queue) settleOverdue(ctx context.Context, expired map[string]int64) error {
	return q.decide(ctx, func(ctx context.Context, tx database.Tx, d decider) ([]journal.Event, error) {
		if err := q.renew(ctx, tx); err != nil {
			return nil, err
		}
		_, events, err := d.settleOverdue(ctx, tx, q.now(), func(job *Job) bool {
			until, is := expired[job.ID]
			return is && until == job.leaseUntil
		})
		return events, err
	})
}

// renew extends the leases of the jobs that run here. It leaves a lost job to the node that finds the lease expired.
func (q *Queue) renew(ctx context.Context, tx database.Tx) error {
	for id, attempt := range q.ownRuns() {
		_, err := tx.ExecContext(ctx,
			`update jobs set lease_until = $1 where id = $2 and state = 'running' and owner = $3 and attempts = $4`,
			q.now()+q.opts.Lease.Milliseconds(), id, q.owner, attempt)
		if err != nil {
			return fmt.Errorf("renew the lease of job %s: %w", id, err)
		}
	}
	return nil
}

func (q *Queue) claim(ctx context.Context) error {
	q.claiming.Lock()
	defer q.claiming.Unlock()
	if q.draining || q.opts.Draining != nil && q.opts.Draining() {
		return nil
	}
	var (
		jobs    []Job
		yielded map[string]string
	)
	err := q.decide(ctx, func(ctx context.Context, tx database.Tx, d decider) (events []journal.Event, err error) {
		jobs, yielded, events, err = d.claim(ctx, tx, q.claimant(), q.yields, q.now())
		return events, err
	})
	if err != nil {
		return err
	}
	q.noteYielded(yielded)
	for _, job := range jobs {
		q.begin(job)
	}
	return nil
}

// follow synchronizes the local runs with the store. It stops runs of jobs that ended elsewhere and cancels runs of
// jobs that must be canceled. It starts a run for a job of this process that has none, because the answer to its claim
// was lost.
func (q *Queue) follow(running []Job) {
	stored := map[string]Job{}
	for _, job := range running {
		if job.owner == q.owner {
			stored[job.ID] = job
		}
	}
	q.mu.Lock()
	var orphans []Job
	for id, run := range q.runs {
		job, ours := stored[id]
		switch {
		case !ours || job.Attempts != run.job.Attempts:
			run.lose(ErrCanceled)
		case job.CancelRequestedAt != nil:
			run.interruptOnce()
		}
	}
	for id, job := range stored {
		// An older read may show a job as running that just ended. Only an attempt that never started here is an
		// orphan.
		if q.begun[id] != job.Attempts {
			orphans = append(orphans, job)
		}
	}
	for id := range q.begun {
		if _, shown := stored[id]; !shown && q.runs[id] == nil {
			delete(q.begun, id)
		}
	}
	q.mu.Unlock()
	for _, job := range orphans {
		q.begin(job)
	}
}

// renewLeases renews the leases of this process's jobs. If a shared store was unreachable for a whole lease, other
// nodes may have claimed the jobs.
func (q *Queue) renewLeases(ctx context.Context) {
	ticker := time.Tick(q.opts.Lease / 3)
	for {
		select {
		case <-ticker:
		case <-ctx.Done():
			return
		}
		if !q.hasRuns() {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, q.opts.Lease/3)
		at := time.Now()
		_, err := q.journal.Commit(bounded, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return nil, q.renew(ctx, tx)
		})
		cancel()
		q.noteRenewal(at, err)
	}
}

// ownRuns returns the attempts that run here, by job, without lost ones.
func (q *Queue) ownRuns() map[string]int {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := make(map[string]int, len(q.runs))
	for id, run := range q.runs {
		select {
		case <-run.lost:
		default:
			own[id] = run.job.Attempts
		}
	}
	return own
}

func (q *Queue) hasRuns() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.runs) > 0
}

func (q *Queue) noteRenewal(at time.Time, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err == nil {
		q.renewed = at
		return
	}
	q.log.Warn().Err(err).Msg("cannot renew the leases of running jobs")
	if q.db.Engine() == database.SQLite {
		return // there is no other node
	}
	for _, run := range q.runs {
		if time.Since(later(run.since, q.renewed)) >= q.opts.Lease {
			run.lose(ErrLost)
		}
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
