package extensions

import (
	"context"
	"sync"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/journal"
)

// lane dispatches the events of some sessions in order. Its queue is bounded: when it overflows, the lane drops it
// and reads the journal from its cursor until it has caught up.
type lane struct {
	number int
	limit  int
	wake   wake.Signal

	mu     sync.Mutex
	queue  []journal.Record
	behind bool  // read the records after cursor from the journal
	seen   int64 // last published position
	cursor int64 // last dispatched position
	busy   bool
}

func newLane(number, limit int) *lane {
	return &lane{number: number, limit: limit, wake: wake.New()}
}

// push queues a record; it returns true if the lane just fell behind.
func (l *lane) push(rec journal.Record) (overflowed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.behind: // the lane reads this record from the journal
		l.seen = max(l.seen, rec.Pos)
	case len(l.queue) < l.limit:
		l.queue = append(l.queue, rec)
	default:
		l.behind, overflowed = true, true
		l.seen = max(l.seen, rec.Pos)
	}
	l.wake.Set()
	return overflowed
}

// advance records that everything up to a position was published.
func (l *lane) advance(pos int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen = max(l.seen, pos)
	if !l.behind && len(l.queue) == 0 && !l.busy {
		l.cursor = l.seen
	}
}

// position returns the position up to which the lane has dispatched.
func (l *lane) position() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cursor
}

// next removes the oldest queued record.
func (l *lane) next() (rec journal.Record, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.queue = nil
		return rec, false
	}
	rec = l.queue[0]
	l.queue = l.queue[1:]
	l.busy = true
	return rec, true
}

// done records that the lane dispatched a record.
func (l *lane) done(pos int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	l.cursor = max(l.cursor, pos)
	if !l.behind && len(l.queue) == 0 {
		l.cursor = max(l.cursor, l.seen)
	}
}

// work is the lane's goroutine.
func (d *Dispatcher) work(ctx context.Context, l *lane) {
	for {
		rec, ok := l.next()
		switch {
		case ok:
			d.handle(ctx, &rec)
			if ctx.Err() != nil {
				return
			}
			l.done(rec.Pos)
			continue
		case !d.catchUp(ctx, l):
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-l.wake:
		}
	}
}

// readPause is the time that a lane waits after a failed read of the journal.
const readPause = time.Second

// catchUp reads the records that the queue dropped; it returns false when the dispatcher stops.
func (d *Dispatcher) catchUp(ctx context.Context, l *lane) bool {
	for {
		l.mu.Lock()
		after, target, behind := l.cursor, l.seen, l.behind
		if behind && after >= target {
			l.behind, behind = false, false
		}
		l.mu.Unlock()
		if !behind {
			return true
		}
		records, err := d.opts.Journal.Read(ctx, journal.Query{After: after})
		if err != nil {
			if ctx.Err() != nil {
				return false
			}
			d.opts.Logger.Warn().Err(err).Msg("cannot read the journal; events for extensions are delayed")
			select {
			case <-ctx.Done():
				return false
			case <-time.After(readPause):
			}
			continue
		}
		for i := range records {
			if d.lanes[d.laneOf(records[i].SessionID)] == l && d.interesting(&records[i]) {
				d.handle(ctx, &records[i])
			}
			if ctx.Err() != nil {
				return false
			}
			l.done(records[i].Pos)
		}
		if len(records) == 0 { // the journal was pruned up to the head
			l.done(target)
		}
	}
}
