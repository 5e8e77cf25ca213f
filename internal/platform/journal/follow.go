package journal

import (
	"context"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
)

// follower reads other processes' events on a goroutine separate from the writer's: a read may wait for the standby.
type follower struct {
	poll   <-chan time.Time // nil when there are no other processes
	found  chan []Record    // the next events, which the writer delivers
	wanted wake.Signal
	stop   func()
}

// follow starts a follower, which its stop method ends.
func (j *Journal) follow(ctx context.Context) *follower {
	f := &follower{found: make(chan []Record), wanted: wake.New(), stop: func() {}}
	if j.db.Engine() != database.Postgres {
		return f
	}
	ctx, cancel := context.WithCancel(ctx)
	ticker := time.NewTicker(j.opts.PollInterval)
	f.poll = ticker.C
	var running sync.WaitGroup
	running.Go(func() { j.readOthers(ctx, f) })
	f.stop = func() {
		ticker.Stop()
		cancel()
		running.Wait()
	}
	return f
}

// pollSoon triggers a read of other processes' events. It never blocks.
func (f *follower) pollSoon() {
	f.wanted.Set()
}

func (j *Journal) readOthers(ctx context.Context, f *follower) {
	for {
		select {
		case <-f.wanted:
		case <-ctx.Done():
			return
		}
		records, err := j.Read(ctx, Query{After: j.head.Load()})
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			// Subscribers get events late, but never wrong ones: the next poll or commit tries again from the same
			// position.
			j.opts.Logger.Warn().Err(err).Msg("cannot read new journal events")
		}
		if len(records) == 0 {
			continue
		}
		select {
		case f.found <- records:
		case <-ctx.Done():
			return
		}
	}
}

// deliverNew delivers the new events of a page that was read from the last delivered position, and starts the read of
// the next page. If the page has nothing new, the writer has delivered others' events along with its own. It will do so
// again, so another read would fetch each of them twice.
func (j *Journal) deliverNew(page []Record, others *follower) {
	known := 0
	for known < len(page) && page[known].Pos <= j.head.Load() {
		known++
	}
	if known < len(page) {
		j.deliver(page[known:])
		others.pollSoon()
	}
}
