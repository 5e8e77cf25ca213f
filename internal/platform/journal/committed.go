package journal

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"harness/internal/platform/database"
)

// committed is a batch that took effect. Subscribers get it only once it is durable.
type committed struct {
	transaction database.Committed
	batch       []*submission
	outcomes    []outcome
	records     []Record
	ended       headState // the head's state after it
	began       time.Time // zero when nothing was written
	overlaps    bool      // it ran while the batch before it was being synced
	ends        *outage   // the last outage known when the batch was collected; nil for none
}

// startSyncing starts to publish the batches that handOver passes on. The returned function waits until all of them are
// published.
func (j *Journal) startSyncing(ctx context.Context) (finish func()) {
	j.syncing = make(chan *committed)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		for c := range j.syncing {
			j.conclude(ctx, c)
			j.underWay.Add(-1)
		}
	}()
	return func() {
		close(j.syncing)
		<-finished
	}
}

// handOver publishes a batch after its commit is durable, in order. The next transaction runs during that time, but not
// the one after it, which waits here for the publication. Without other work the writer publishes the batch itself,
// which saves a handover.
func (j *Journal) handOver(ctx context.Context, c *committed) {
	alone := j.alone && len(j.queue) == 0
	if j.underWay.Load() == 0 && (alone || c.transaction.Certain()) {
		j.conclude(ctx, c)
		j.alone = len(j.queue) == 0
		return
	}
	j.alone = !c.overlaps && len(j.queue) == 0
	j.underWay.Add(1)
	poll := time.NewTicker(pollAgain) // not time.Tick, since every batch needs one
	defer poll.Stop()
	for {
		select {
		case j.syncing <- c:
			return
		case <-poll.C:
			if j.Outage() != nil {
				c.park()
			}
		}
	}
}

// publishEphemeral passes on ephemeral events between batches, in their place.
func (j *Journal) publishEphemeral(ctx context.Context, batch []*submission) {
	if len(batch) > 0 {
		alone := j.alone
		j.handOver(ctx, &committed{batch: batch, outcomes: make([]outcome, len(batch))})
		j.alone = alone
	}
}

// park lets callers leave while the store refuses writes: no unit of the batch runs again.
func (c *committed) park() {
	for _, s := range c.batch {
		s.park()
	}
}

// conclude publishes a batch and calls the callback of every unit.
func (j *Journal) conclude(ctx context.Context, c *committed) {
	err := j.awaitSynced(ctx, c)
	if !c.began.IsZero() {
		j.unpublished.Add(-1)
	}
	if err != nil {
		for _, s := range c.batch {
			s.done(nil, err)
		}
		return
	}
	if !c.began.IsZero() {
		j.noteAccepted(c.ends)
		j.took.Store(int64(time.Since(c.began)))
	}
	if !c.began.IsZero() && j.barrier != nil {
		j.barrier.survives(c.transaction.Server(), c.ended)
	}
	if len(c.records) > 0 && j.opts.Hooks.Announce != nil {
		j.opts.Hooks.Announce() // other processes read while subscribers here get their records
	}
	j.publish(ctx, c.records, ephemeralBetween(c.batch, c.outcomes))
	for i, s := range c.batch {
		out := c.outcomes[i]
		s.done(c.records[out.first:out.first+out.count:out.first+out.count], out.err)
		s.unit, s.done = nil, nil // the rest of a batch shares the array and would keep their memory alive
	}
	if j.opts.Hooks.Observe != nil && !c.began.IsZero() {
		j.opts.Hooks.Observe(len(c.batch), len(c.records), time.Since(c.began))
	}
}

// awaitSynced tries until the batch is durable, or until the writer is being stopped.
func (j *Journal) awaitSynced(ctx context.Context, c *committed) error {
	if c.transaction.Certain() {
		return nil
	}
	for wait := firstRetry; ; wait = min(2*wait, lastRetry) {
		began := time.Now()
		err := c.transaction.Synced(ctx)
		if err == nil {
			mean(&j.syncs, time.Since(began))
			return nil
		}
		if ctx.Err() == nil {
			c.park()
			c.ends = j.refused(err)
		}
		if !j.pause(ctx, wait) {
			j.opts.Logger.Error().Err(err).Int("units", len(c.batch)).
				Msg("stopped while the store could not be synced; held events may be lost on power failure")
			return errors.Join(ErrStopped, err)
		}
	}
}

// Overlaps reports whether to run part of the pending writes while the rest is being synced, instead of writing all of
// them at once. Each transaction has a fixed cost, so the longer the disk takes by comparison, the fewer transactions
// there should be. It is false where nothing can run during a sync, as on Postgres.
func (j *Journal) Overlaps() bool {
	sync := j.syncs.Load()
	return sync > 0 && sync < j.runs.Load()
}

// mean records how long something took, smoothed over the last few times.
func mean(of *atomic.Int64, took time.Duration) {
	const times = 8
	of.Store(of.Load() + (int64(took)-of.Load())/times)
}
