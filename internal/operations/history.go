package operations

import (
	"context"
	"strings"

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
	Usage(ctx context.Context, want session.UsageQuery) (session.UsageSum, error)
}

// PriceStore has the table of prices. usage.Prices implements it.
type PriceStore interface {
	// Prices lists the prices that people set and the built-in ones.
	Prices(ctx context.Context) ([]session.Price, error)
	// SetPrice sets the price of a model from a day on; RemovePrice reports whether there was one.
	SetPrice(ctx context.Context, p session.Price) (session.Price, error)
	RemovePrice(ctx context.Context, id string) (bool, error)
}

// History lists events and usage over all sessions, and keeps the prices.
type History struct {
	events Events
	store  UsageStore
	prices PriceStore
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
func (s *History) Usage(ctx context.Context, want session.UsageQuery) (session.UsageSum, error) {
	if err := reportLimit(&want.Limit); err != nil {
		return session.UsageSum{}, err
	}
	return s.store.Usage(ctx, want)
}

// Prices lists the prices that people set and the built-in ones.
func (s *History) Prices(ctx context.Context) ([]session.Price, error) { return s.prices.Prices(ctx) }

// The limits of a price.
const (
	maxPrice     = 1_000_000_000 // a thousand dollars per million tokens
	maxModelName = 200
)

// SetPrice sets the price of a model from a day on. *InvalidError.
func (s *History) SetPrice(ctx context.Context, p session.Price) (session.Price, error) {
	if name := strings.TrimSuffix(p.Model, "*"); name == "" || len(name) > maxModelName || strings.ContainsAny(name, "* \t\n") {
		return session.Price{}, invalid("model", "Give the name of a model, or the start of names and a *")
	}
	for field, amount := range map[string]int64{"inputMicros": p.Input, "cachedInputMicros": p.Cached, "outputMicros": p.Output} {
		if amount < 0 || amount > maxPrice {
			return session.Price{}, invalid(field, "Give 0 to 1000000000 millionths of a US dollar per million tokens")
		}
	}
	return s.prices.SetPrice(ctx, p)
}

// RemovePrice removes a price that people set; false if there is none with this id.
func (s *History) RemovePrice(ctx context.Context, id string) (bool, error) {
	return s.prices.RemovePrice(ctx, id)
}

func reportLimit(limit *int) error {
	var p problems
	p.count("limit", *limit, MaxReport)
	if *limit == 0 {
		*limit = defaultPage
	}
	return p.err()
}
