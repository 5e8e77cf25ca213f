package extensions

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"harness/transcript"
)

// retries are the dispatches waiting for their next try.
type retries struct {
	mu    sync.Mutex
	items []retry
	wake  chan struct{}
}

type retry struct {
	job dispatch
	due time.Time
}

func (r *retries) add(job dispatch, due time.Time) {
	r.mu.Lock()
	r.items = append(r.items, retry{job, due})
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take removes what is due and tells how long the next one waits (a day when there is none).
func (r *retries) take(now time.Time) (due []dispatch, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	wait = 24 * time.Hour
	rest := r.items[:0]
	for _, item := range r.items {
		if !item.due.After(now) {
			due = append(due, item.job)
			continue
		}
		wait = min(wait, item.due.Sub(now))
		rest = append(rest, item)
	}
	r.items = rest
	return due, wait
}

// retryLoop takes up what an earlier run left, then tries again what is due.
func (d *Dispatcher) retryLoop(ctx context.Context, left []dispatch) {
	d.resume(ctx, left)
	for {
		due, wait := d.retry.take(d.opts.Clock())
		for _, job := range due {
			if ctx.Err() != nil {
				return
			}
			d.turnEnd(ctx, job)
		}
		if len(due) > 0 {
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-d.retry.wake:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// resume works on stored dispatches nobody acted on: ends of turns are tried again, file changes that still wait are reconciled.
func (d *Dispatcher) resume(ctx context.Context, left []dispatch) {
	for _, job := range left {
		if ctx.Err() != nil {
			return
		}
		switch job.kind {
		case EventTurnCompleted:
			d.turnEnd(ctx, job)
		case EventFileChange:
			d.reconcile(ctx, job)
		}
	}
}

// Reconcile offers every file change that still waits for a decision, and that no extension acted on, again (sourceEvent approvals_reconcile).
// Call it after a reload: what came in before an extension was there is not lost to it. One that was acted on is never offered twice.
func (d *Dispatcher) Reconcile(ctx context.Context) error {
	left, err := pendingDispatches(ctx, d.opts.DB.Read(), d.opts.NodeID)
	if err != nil {
		return err
	}
	for _, job := range left {
		if job.kind == EventFileChange && ctx.Err() == nil {
			d.reconcile(ctx, job)
		}
	}
	return ctx.Err()
}

func (d *Dispatcher) reconcile(ctx context.Context, job dispatch) {
	pending, err := d.opts.Sessions.RequestPending(ctx, job.sessionID, job.requestID)
	if err != nil {
		d.logFailure(ctx, err, job)
		return
	}
	if !pending {
		job.state = dispatchDone
		d.settle(ctx, job)
		return
	}
	change := fileChange{source: sourceReconcile}
	entries, err := transcript.Store{}.List(ctx, d.opts.DB.Read(), job.sessionID)
	if err != nil {
		d.logFailure(ctx, err, job)
		return
	}
	for i := range entries {
		if entries[i].MessageID != "approval-"+job.requestID {
			continue
		}
		change.summary = entries[i].Content
		if entries[i].Details != nil {
			change.details = *entries[i].Details
			var details struct{ ItemID string }
			if json.Unmarshal([]byte(change.details), &details) == nil {
				change.itemID = details.ItemID
			}
		}
	}
	d.fileChange(ctx, job, change)
}
