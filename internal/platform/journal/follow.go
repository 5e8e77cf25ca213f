package journal

import (
	"context"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
)

// follower reads what other processes have written, beside the writer: to read it may take as long as the standby does.
type follower struct {
	poll   <-chan time.Time // nil when there are no other processes
	found  chan []Record    // the next events, for the writer to deliver
	wanted wake.Signal
	stop   func()
}

// follow starts a follower, which stop ends.
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

// pollSoon triggers a read of what other processes have written. It never blocks.
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
			// Subscribers are late, not wrong: the next poll or commit tries again from the same position.
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

// deliverNew hands out what is new of events that were read from the last position handed out then, and has the next
// ones read. Without anything new the writer has passed on others' events with its own meanwhile, and will do so again:
// each of them would be read twice.
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
