package journal

import (
	"context"
)

// Listener is handed what was told, in order with the records Subscribers are handed and from the same goroutine. The rules of Subscriber
// apply.
type Listener func(events []Event)

// told are events that go to listeners after so many records of a batch.
type told struct {
	after  int
	events []Event
}

// Tell passes events on to the listeners of this process without storing them: early news of what a later unit stores. They keep their
// place between the units submitted before and after, but no unit's commit is begun or waited for on their account. They have no position,
// and are lost when the process or its database ends first; nothing may depend on them alone. It blocks and fails as Submit does.
func (j *Journal) Tell(ctx context.Context, events ...Event) error {
	for i := range events {
		events[i] = j.record(events[i], Origin{}).Event
	}
	return j.submit(&submission{ctx: ctx, told: events, done: func([]Record, error) {}})
}

// Listen adds a receiver of what is told. cancel removes it; calling it twice is allowed.
func (j *Journal) Listen(fn Listener) (cancel func()) {
	j.publishing.Lock()
	defer j.publishing.Unlock()
	id := j.nextID
	j.nextID++
	j.listeners[id] = fn
	return func() {
		j.publishing.Lock()
		defer j.publishing.Unlock()
		delete(j.listeners, id)
	}
}

// tellFirst passes on what a batch tells before its first unit, and returns the rest.
func (j *Journal) tellFirst(ctx context.Context, batch []*submission) []*submission {
	n := 0
	for n < len(batch) && batch[n].unit == nil {
		n++
	}
	j.tell(ctx, batch[:n:n])
	return batch[n:]
}

// toldBetween is what a committed batch tells, each with its place among the records.
func toldBetween(batch []*submission, outcomes []outcome) []told {
	var all []told
	for i, s := range batch {
		if s.unit == nil {
			all = append(all, told{after: outcomes[i].first, events: s.told})
		}
	}
	return all
}

func (j *Journal) pass(events []Event) {
	j.publishing.Lock()
	defer j.publishing.Unlock()
	for _, fn := range j.listeners {
		fn(events)
	}
}
