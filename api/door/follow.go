package door

import (
	"context"
	"sync"

	"harness/internal/platform/journal"
)

// Journal is the part of the event log that Follows needs; *journal.Journal implements it.
type Journal interface {
	// Subscribe passes committed records to fn, in order, from one goroutine.
	Subscribe(fn journal.Subscriber) (head int64, cancel func())
	// SubscribeEphemeral calls fn for events published before they are stored, in order with the records, never
	// concurrently.
	SubscribeEphemeral(fn journal.EphemeralSubscriber) (cancel func())
}

// Follows passes the events of sessions to the sockets that follow them. An event is translated once for all of them.
type Follows[Event any] struct {
	journal Journal
	// show translates a record, which has no position if it is not stored yet. Nothing is shown of it if ok is false.
	show func(record journal.Record) (event Event, ok bool)

	mu     sync.Mutex
	of     map[string]map[*Following[Event]]struct{}
	cancel func()
}

// NewFollows creates a Follows. Start it before sessions are followed.
func NewFollows[Event any](source Journal, show func(journal.Record) (Event, bool)) *Follows[Event] {
	return &Follows[Event]{journal: source, show: show, of: map[string]map[*Following[Event]]struct{}{}}
}

// Start subscribes to the journal.
func (f *Follows[Event]) Start(context.Context) error {
	_, stored := f.journal.Subscribe(func(records []journal.Record) {
		for i := range records {
			f.pass(records[i])
		}
	})
	early := f.journal.SubscribeEphemeral(func(events []journal.Event) {
		for i := range events {
			f.pass(journal.Record{Event: events[i]})
		}
	})
	f.cancel = func() { stored(); early() }
	return nil
}

// Stop ends the subscription.
func (f *Follows[Event]) Stop(context.Context) error {
	if f.cancel != nil {
		f.cancel()
		f.cancel = nil
	}
	return nil
}

func (f *Follows[Event]) pass(record journal.Record) {
	f.mu.Lock()
	all := make([]*Following[Event], 0, len(f.of[record.SessionID]))
	for one := range f.of[record.SessionID] {
		all = append(all, one)
	}
	f.mu.Unlock()
	if record.SessionID == "" || len(all) == 0 {
		return
	}
	if event, ok := f.show(record); ok {
		for _, one := range all {
			one.take(event)
		}
	}
}

// Attach follows a session until Detach. give gets its events in order and must not block. A held one gets nothing
// before Release.
func (f *Follows[Event]) Attach(session string, held bool, give func(Event)) *Following[Event] {
	one := &Following[Event]{follows: f, session: session, held: held, give: give}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of[session] == nil {
		f.of[session] = map[*Following[Event]]struct{}{}
	}
	f.of[session][one] = struct{}{}
	return one
}

// maxHeld limits the events that one Following holds.
const maxHeld = 8192

// Following is one socket's view of one session.
type Following[Event any] struct {
	follows *Follows[Event]
	session string
	give    func(Event)

	mu     sync.Mutex
	held   bool
	gone   bool
	events []Event
}

func (f *Following[Event]) take(event Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.gone:
	case !f.held:
		f.give(event)
	case len(f.events) < maxHeld:
		f.events = append(f.events, event)
	default: // the reader of so much does not read its history: let it have the events
		f.release(nil)
		f.give(event)
	}
}

// Release runs first and then gives the held events that first does not drop, and all later ones. It returns false if
// nothing was held; then it runs only first.
func (f *Following[Event]) Release(first func() (drop func(Event) bool)) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	held := f.held
	f.release(first())
	return held
}

func (f *Following[Event]) release(drop func(Event) bool) {
	events := f.events
	f.held, f.events = false, nil
	for _, event := range events {
		if drop == nil || !drop(event) {
			f.give(event)
		}
	}
}

// Detach ends it. Nothing is given afterwards.
func (f *Following[Event]) Detach() {
	f.mu.Lock()
	f.gone, f.events = true, nil
	f.mu.Unlock()
	f.follows.mu.Lock()
	defer f.follows.mu.Unlock()
	all := f.follows.of[f.session]
	if delete(all, f); len(all) == 0 {
		delete(f.follows.of, f.session)
	}
}
