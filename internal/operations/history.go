package operations

import (
	"context"

	"harness/internal/services/session"
	"harness/stream"
)

// Events has the methods of the journal that the operations need. stream.Browser implements it.
type Events interface {
	Browse(ctx context.Context, want stream.Browse) (stream.BrowsedPage, error)
	Event(ctx context.Context, cursor int64) (stream.BrowsedEvent, bool, error)
}

// UsageStore has the methods of sessions that History needs.
type UsageStore interface {
	// Usage adds up the reported token usage of sessions.
	Usage(ctx context.Context, want session.UsageQuery) (rows []session.Usage, total session.Usage, err error)
}

// History lists events and usage over all sessions.
type History struct {
	events Events
	store  UsageStore
}

// MaxReport is the maximum page of jobs, events or usage; the default is defaultPage.
const MaxReport = 500

// Events lists events.
func (s *History) Events(ctx context.Context, want stream.Browse) (stream.BrowsedPage, error) {
	if want.After != nil && want.Before != nil {
		return stream.BrowsedPage{}, invalid("after", "Give before or after, not both")
	}
	if err := reportLimit(&want.Limit); err != nil {
		return stream.BrowsedPage{}, err
	}
	return s.events.Browse(ctx, want)
}

// Event returns one event by its position on the stream; false when it is not stored.
func (s *History) Event(ctx context.Context, cursor int64) (stream.BrowsedEvent, bool, error) {
	return s.events.Event(ctx, cursor)
}

// Usage adds up the reported token usage of sessions.
func (s *History) Usage(ctx context.Context, want session.UsageQuery) ([]session.Usage, session.Usage, error) {
	if err := reportLimit(&want.Limit); err != nil {
		return nil, session.Usage{}, err
	}
	return s.store.Usage(ctx, want)
}

func reportLimit(limit *int) error {
	var p problems
	p.count("limit", *limit, MaxReport)
	if *limit == 0 {
		*limit = defaultPage
	}
	return p.err()
}
