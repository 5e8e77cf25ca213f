package journal

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"harness/internal/platform/database"
)

// committed is a batch that took effect. Subscribers see it only once it is durable.
type committed struct {
	transaction database.Committed
	batch       []*submission
	outcomes    []outcome
	records     []Record
	ended       headState // where the head stood after it
	began       time.Time // zero when nothing was written
	overlaps    bool      // the one before was on its way to the disk when it ran
	ends        *outage   // the last one known when it was taken, nil for none
}

// startSyncing begins to publish what handOver passes on. The function returned waits until all of it is published.
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

// handOver publishes a batch after its commit is durable, in order. The next transaction runs meanwhile, but no second
// one: it waits here for the publication. Without other work the writer does it all by itself, which saves a handover.
func (j *Journal) handOver(ctx context.Context, c *committed) {
	alone := j.alone && len(j.queue) == 0
	if j.underWay.Load() == 0 && (alone || c.transaction.Certain()) {
		j.conclude(ctx, c)
		j.alone = len(j.queue) == 0
		return
	}
	j.alone = !c.overlaps && len(j.queue) == 0
	j.underWay.Add(1)
	poll := time.NewTicker(pollAgain) // not time.Tick: there is one for each batch
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

// park lets callers leave while the store refuses: nothing of the batch runs again.
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
		j.opts.Hooks.Announce() // others read while subscribers here are handed theirs
	}
	j.publish(ctx, c.records, ephemeralBetween(c.batch, c.outcomes))
	for i, s := range c.batch {
		out := c.outcomes[i]
		s.done(c.records[out.first:out.first+out.count:out.first+out.count], out.err)
		s.unit, s.done = nil, nil // the rest of a batch shares the array, and would keep their memory
	}
	if j.opts.Hooks.Observe != nil && !c.began.IsZero() {
		j.opts.Hooks.Observe(len(c.batch), len(c.records), time.Since(c.began))
	}
}

// awaitSynced tries until the batch is certain to last, or the writer is being stopped.
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
				Msg("stopped while the store could not be synced; what is held may be lost with the machine's power")
			return errors.Join(ErrStopped, err)
		}
	}
}

// Overlaps reports whether it is better to have part of what is to be written run while the rest is on its way to the
// disk than to write it all at once: a transaction has a price of its own, and the longer the disk takes compared to
// it, the fewer there should be. False when nothing can run meanwhile, which on Postgres is so.
func (j *Journal) Overlaps() bool {
	sync := j.syncs.Load()
	return sync > 0 && sync < j.runs.Load()
}

// mean notes how long something took, smoothed over the last few times.
func mean(of *atomic.Int64, took time.Duration) {
	const times = 8
	of.Store(of.Load() + (int64(took)-of.Load())/times)
}
