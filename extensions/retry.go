package extensions

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"harness/transcript"
)

// retries holds the dispatches to retry later.
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

// due removes the dispatches that are due and returns the time until the next one (a day for none).
func (r *retries) due(now time.Time) (due []dispatch, wait time.Duration) {
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

// retryLoop resumes the dispatches of an earlier run, then retries the ones that are due. It runs as many concurrently
// as there are lanes, so that a slow handler does not delay the others.
func (d *Dispatcher) retryLoop(ctx context.Context, left []dispatch) {
	var tries errgroup.Group
	defer func() { _ = tries.Wait() }() // try logs its failures itself
	tries.SetLimit(d.opts.Lanes)
	d.tryAll(ctx, &tries, left)
	for {
		due, wait := d.retry.due(d.opts.Clock())
		d.tryAll(ctx, &tries, due)
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

func (d *Dispatcher) tryAll(ctx context.Context, tries *errgroup.Group, jobs []dispatch) {
	for _, job := range jobs {
		tries.Go(func() error {
			if ctx.Err() == nil {
				d.try(ctx, job)
			}
			return nil
		})
	}
}

// try handles a stored dispatch without an action: it dispatches the end of a turn again, and reconciles a file
// change that still needs a decision.
func (d *Dispatcher) try(ctx context.Context, job dispatch) {
	if d.dispatchedElsewhere(ctx, job.sessionID, "") {
		return // the other node took over the dispatch with the session
	}
	switch job.kind {
	case EventTurnCompleted:
		d.turnEnd(ctx, job)
	case EventFileChange:
		d.reconcile(ctx, job)
	}
}

// Reconcile emits each file change again that still needs a decision and on which no extension acted (sourceEvent
// approvals_reconcile). Call it after a reload, so that a new extension gets earlier events. It never emits a change
// again that has an action.
func (d *Dispatcher) Reconcile(ctx context.Context) error {
	left, err := pendingDispatches(ctx, d.opts.DB.Read(), d.opts.NodeID)
	if err != nil {
		return err
	}
	var tries errgroup.Group
	tries.SetLimit(d.opts.Lanes)
	d.tryAll(ctx, &tries, slices.DeleteFunc(left, func(job dispatch) bool { return job.kind != EventFileChange }))
	_ = tries.Wait() // try logs its failures itself
	return ctx.Err()
}

func (d *Dispatcher) reconcile(ctx context.Context, job dispatch) {
	ctx = d.opts.Journal.Reading(ctx)
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
	entry, _, err := transcript.Store{}.Find(ctx, d.opts.DB.Read(), job.sessionID, "approval-"+job.requestID)
	if err != nil {
		d.logFailure(ctx, err, job)
		return
	}
	if change.summary = entry.Content; entry.Details != nil {
		change.details = json.RawMessage(*entry.Details)
		var details struct{ ItemID string }
		if json.Unmarshal(change.details, &details) == nil {
			change.itemID = details.ItemID
		}
	}
	d.fileChange(ctx, job, change)
}
