package journal

import "context"

// Subscribe adds a receiver of committed records. head is the last position already handed out: the receiver gets
// everything after it. cancel removes the receiver; calling it twice is allowed.
func (j *Journal) Subscribe(fn Subscriber) (head int64, cancel func()) {
	j.publishing.Lock()
	defer j.publishing.Unlock()
	id := j.nextID
	j.nextID++
	j.subscribers[id] = fn
	return j.head.Load(), func() {
		j.publishing.Lock()
		defer j.publishing.Unlock()
		delete(j.subscribers, id)
	}
}

// Head is the last position handed to subscribers.
func (j *Journal) Head() int64 { return j.head.Load() }

// Look has what other processes have committed read now instead of at the next poll. It never blocks.
func (j *Journal) PollNow() {
	select {
	case j.pollNow <- struct{}{}:
	default:
	}
}

// publish publishes records this process just committed, after those other processes committed before them, and
// the ephemeral events between them.
func (j *Journal) publish(ctx context.Context, records []Record, between []ephemeral) {
	if len(records) > 0 && records[0].Pos != j.head.Load()+1 && !j.catchUp(ctx, records[0].Pos) {
		return // ephemeral events would come before earlier records
	}
	done := 0
	for _, t := range between {
		j.deliver(records[done:t.after])
		done = t.after
		j.pass(t.events)
	}
	j.deliver(records[done:])
}

// catchUp hands out committed records from the store, up to but not including a position; false when it could not. The
// head row's lock makes commit order equal pos order, so a record that is visible has none still to come before it.
func (j *Journal) catchUp(ctx context.Context, before int64) bool {
	for j.head.Load()+1 < before {
		head := j.head.Load()
		// No more than that: what comes later may have to be waited for.
		records, err := j.Read(ctx, Query{After: head, Before: before})
		if err != nil {
			// Subscribers are late, not wrong: the next poll or commit tries again from the same position.
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

func (j *Journal) deliver(records []Record) {
	if len(records) == 0 {
		return
	}
	j.publishing.Lock()
	defer j.publishing.Unlock()
	j.head.Store(records[len(records)-1].Pos)
	for _, fn := range j.subscribers {
		fn(records)
	}
}
