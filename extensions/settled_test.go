package extensions_test

import (
	"context"
	"sync/atomic"
	"testing"

	"harness/extensions"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/tests/dbtest"
)

// unsettledJournal is a journal whose reads include rows that are not durable yet.
type unsettledJournal struct {
	*journal.Journal
	asked   chan struct{}
	settled chan struct{} // closed once the rows are durable
	reading atomic.Int32
}

func (u *unsettledJournal) Reading(ctx context.Context) context.Context {
	u.reading.Add(1)
	return u.Journal.Reading(ctx)
}

func (u *unsettledJournal) Settled(ctx context.Context) error {
	select {
	case u.asked <- struct{}{}:
	default:
	}
	select {
	case <-u.settled:
		return u.Journal.Settled(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// An event is dispatched to extensions only once its source rows are durable: the first time, at a retry, and when a
// client requests a suggestion.
func TestEventsWaitForTheReplica(t *testing.T) {
	t.Parallel()
	db := dbtest.Open(t, database.SQLite)
	s, l := newSite(t, db), newListener(queued)
	var held *unsettledJournal
	hold := func() { held.settled, held.asked = make(chan struct{}), make(chan struct{}, 1) }
	held = &unsettledJournal{Journal: s.journal}
	hold()
	d, _, _ := s.start(l, func(o *extensions.DispatcherOptions) { o.Journal = held }, extensions.EventFileChange,
		extensions.EventTurnCompleted, extensions.EventSuggestRequest)
	dispatched := func(eventType string) {
		t.Helper()
		<-held.asked
		if n := len(l.events); n > 0 || held.reading.Load() == 0 {
			t.Errorf("%d events are dispatched before they may be shown", n)
		}
		close(held.settled)
		l.expect(t, eventType)
	}
	s.fileChange("s1", "t1", "item-1", "req-1")
	dispatched(extensions.EventFileChange)
	hold()
	s.turnEnd("s1", "t1")
	dispatched(extensions.EventTurnCompleted)
	hold()
	suggested := make(chan error, 1)
	go func() {
		_, _, err := d.Suggest(t.Context(), extensions.SuggestRequest{SessionID: "s1", ProjectID: "p1"})
		suggested <- err
	}()
	dispatched(extensions.EventSuggestRequest)
	if err := <-suggested; err != nil {
		t.Error(err)
	}
}
