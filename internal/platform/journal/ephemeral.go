package journal

import (
	"context"
)

// EphemeralSubscriber gets ephemeral events, in order with the records that Subscribers get and never concurrently with
// them. The rules of Subscriber apply.
type EphemeralSubscriber func(events []Event)

// ephemeral are events that are passed on after a number of records of a batch, and not stored.
type ephemeral struct {
	after  int
	events []Event
}

// PublishEphemeral passes events on to the ephemeral subscribers of this process without storing them: early news of
// what a later unit stores. They keep their place between the units submitted before and after, but do not cause or
// delay any unit's commit. They have no position, and are lost if the process or its database ends before they are
// published. Nothing may depend on them alone. It blocks and fails as Submit does.
func (j *Journal) PublishEphemeral(ctx context.Context, events ...Event) error {
	for i := range events {
		events[i] = j.record(events[i], Origin{}).Event
	}
	return j.submit(&submission{ctx: ctx, ephemeral: events, done: func([]Record, error) {}})
}

// SubscribeEphemeral adds a receiver of ephemeral events. cancel removes it; calling it twice is allowed.
func (f *fanout) SubscribeEphemeral(fn EphemeralSubscriber) (cancel func()) {
	f.publishing.Lock()
	defer f.publishing.Unlock()
	id := f.nextID
	f.nextID++
	f.ephemeral[id] = fn
	return func() {
		f.publishing.Lock()
		defer f.publishing.Unlock()
		delete(f.ephemeral, id)
	}
}

// publishLeading passes on a batch's ephemeral events that precede its first unit, and returns the rest.
func (j *Journal) publishLeading(ctx context.Context, batch []*submission) []*submission {
	n := 0
	for n < len(batch) && batch[n].unit == nil {
		n++
	}
	j.publishEphemeral(ctx, batch[:n:n])
	return batch[n:]
}

// ephemeralBetween returns the ephemeral events of a committed batch, each with its place among the records.
func ephemeralBetween(batch []*submission, outcomes []outcome) []ephemeral {
	var all []ephemeral
	for i, s := range batch {
		if s.unit == nil {
			all = append(all, ephemeral{after: outcomes[i].first, events: s.ephemeral})
		}
	}
	return all
}

func (f *fanout) pass(events []Event) {
	f.publishing.Lock()
	defer f.publishing.Unlock()
	for _, fn := range f.ephemeral {
		fn(events)
	}
	if f.onEphemeral != nil && len(events) > 0 {
		f.onEphemeral(f.head.Load(), events)
	}
}

// PassOn passes on ephemeral events of another process. It calls choose between two records that subscribers get, and
// passes the returned events to the ephemeral subscribers. The rules of Subscriber apply to choose.
func (f *fanout) PassOn(choose func() []Event) {
	f.publishing.Lock()
	defer f.publishing.Unlock()
	events := choose()
	if len(events) == 0 {
		return
	}
	for _, fn := range f.ephemeral {
		fn(events)
	}
}
