package journal

import (
	"context"
	"sync"
	"sync/atomic"
)

// fanout delivers events to the subscribers of this process, in order.
type fanout struct {
	publishing  sync.Mutex
	subscribers map[int]Subscriber
	ephemeral   map[int]EphemeralSubscriber
	nextID      int
	head        atomic.Int64
	// onEphemeral is Hooks.OnEphemeral.
	onEphemeral func(after int64, events []Event)
}

// Subscribe adds a receiver of committed records. head is the last position already delivered; the receiver gets
// everything after it. cancel removes the receiver; calling it twice is allowed.
func (f *fanout) Subscribe(fn Subscriber) (head int64, cancel func()) {
	f.publishing.Lock()
	defer f.publishing.Unlock()
	id := f.nextID
	f.nextID++
	f.subscribers[id] = fn
	return f.head.Load(), func() {
		f.publishing.Lock()
		defer f.publishing.Unlock()
		delete(f.subscribers, id)
	}
}

// Head returns the last position delivered to subscribers.
func (f *fanout) Head() int64 { return f.head.Load() }

// PollNow reads what other processes have committed, without waiting for the next poll. It never blocks.
func (j *Journal) PollNow() {
	select {
	case j.pollNow <- struct{}{}:
	default:
	}
}

// publish publishes records that this process just committed, with the ephemeral events between them. First it
// publishes the records that other processes committed before them.
func (j *Journal) publish(ctx context.Context, records []Record, between []ephemeral) {
	if len(records) > 0 && records[0].Pos != j.head.Load()+1 && !j.catchUp(ctx, records[0].Pos) {
		return // otherwise ephemeral events would overtake earlier records
	}
	done := 0
	for _, t := range between {
		j.deliver(records[done:t.after])
		done = t.after
		j.pass(t.events)
	}
	j.deliver(records[done:])
}

// catchUp delivers committed records from the store, up to but not including a position; false if it could not. The
// head row's lock makes commit order equal pos order, so all records before a visible one are visible.
func (j *Journal) catchUp(ctx context.Context, before int64) bool {
	for j.head.Load()+1 < before {
		head := j.head.Load()
		// Read no further: later records may need a wait.
		records, err := j.Read(ctx, Query{After: head, Before: before})
		if err != nil {
			// Subscribers get events late, but never wrong ones: the next poll or commit tries again from the same
			// position.
			j.opts.Logger.Warn().Err(err).Msg("cannot read new journal events")
			return false
		}
		if len(records) == 0 {
			return false
		}
		j.deliver(records)
	}
	return true
}

func (f *fanout) deliver(records []Record) {
	if len(records) == 0 {
		return
	}
	f.publishing.Lock()
	defer f.publishing.Unlock()
	f.head.Store(records[len(records)-1].Pos)
	for _, fn := range f.subscribers {
		fn(records)
	}
}
