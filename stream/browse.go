package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
)

// Browse selects journal events for display. An empty field does not filter.
type Browse struct {
	// After lists the events after a cursor, oldest first. Before lists the events before a cursor, newest first.
	// Without either, the newest events come first.
	After, Before *int64
	// Session selects the events of one session, Actor the events that one actor caused. Type matches
	// BrowsedEvent.Name; a trailing * matches a prefix.
	Session, Actor, Type string
	// Since and Until bound the time (ms): Since inclusive, Until exclusive.
	Since, Until int64
	// Limit is the maximum number of events.
	Limit int
}

// BrowsedEvent is one event of a list.
type BrowsedEvent struct {
	journal.Record
	// Cursor is the stream cursor right after the event.
	Cursor int64
	// Name is the method for a runtime's message, otherwise the event's type.
	Name string
	// Runtime is true for a message of a runtime.
	Runtime bool
}

// BrowsedPage is one page of a list.
type BrowsedPage struct {
	Events []BrowsedEvent
	// Next is the After or Before of the next page, nil on the last one. Even a short page may have a next one,
	// because the search for one page is bounded.
	Next *int64
	// Head is the cursor of the journal's head when the page was read.
	Head int64
}

// browsed is how many positions one page searches, browsedAtOnce how many of them one read covers.
const (
	browsed       = 20_000
	browsedAtOnce = 1_000
)

// browsable is the journal as Browser needs it.
type browsable interface {
	Bounds(ctx context.Context) (oldest, head int64, err error)
	Browse(ctx context.Context, want journal.Selection) ([]journal.Record, error)
}

// Browser lists events. Events of workers' sessions appear only when the session is named, as on the stream.
type Browser struct{ Journal browsable }

// Browse lists events.
func (b Browser) Browse(ctx context.Context, want Browse) (page BrowsedPage, err error) {
	oldest, head, err := b.Journal.Bounds(ctx)
	if err != nil {
		return page, err
	}
	page.Head = CursorAfter(head)
	s := journal.Selection{Session: want.Session, Actor: want.Actor, Since: want.Since, Until: want.Until,
		Backwards: want.After == nil}
	low, high := oldest-1, head+1 // the search covers the positions between them
	if want.After != nil {
		low = max(low, *want.After/framesPerEvent)
	}
	if want.Before != nil {
		high = min(high, *want.Before/framesPerEvent)
	}
	for through := 0; low+1 < high && through < browsed; through += browsedAtOnce {
		s.After, s.Before, s.Limit = low, min(high, low+browsedAtOnce+1), browsedAtOnce
		if s.Backwards {
			s.After, s.Before = max(low, high-browsedAtOnce-1), high
		}
		records, err := b.Journal.Browse(ctx, s)
		if err != nil {
			return page, err
		}
		for i := range records {
			one, shown, err := browsedOf(records[i], want)
			if err != nil {
				return page, err
			}
			if !shown {
				continue
			}
			if len(page.Events) == want.Limit {
				page.Next = nextOf(page.Events[want.Limit-1].Pos, s.Backwards)
				return page, nil
			}
			page.Events = append(page.Events, one)
		}
		if s.Backwards {
			high = s.After + 1
		} else {
			low = s.Before - 1
		}
	}
	if low+1 < high {
		edge := low
		if s.Backwards {
			edge = high
		}
		page.Next = nextOf(edge, s.Backwards)
	}
	return page, nil
}

// nextOf returns the cursor after the event at a position or, backwards, before it.
func nextOf(pos int64, backwards bool) *int64 {
	next := CursorAfter(pos)
	if backwards {
		next = startOf(pos)
	}
	return &next
}

// browsedOf makes the list entry of an event; false if the filter excludes it.
func browsedOf(rec journal.Record, want Browse) (BrowsedEvent, bool, error) {
	one := BrowsedEvent{Record: rec, Cursor: CursorAfter(rec.Pos), Name: rec.Type}
	meta, err := MetaOf(&rec.Event)
	if err != nil {
		return one, false, fmt.Errorf("meta of journal event %d (%s) is not readable: %w", rec.Pos, rec.Type, err)
	}
	if rec.Type == EventNotification || rec.Type == EventRequest {
		if line, ok := LineOf(&rec.Event, meta); ok {
			one.Name, one.Runtime = wire.Text(line.Method), true
		}
	}
	if meta.SystemOwned && want.Session != rec.SessionID {
		return one, false, nil
	}
	if begin, open := strings.CutSuffix(want.Type, "*"); want.Type == "" || open && strings.HasPrefix(one.Name, begin) {
		return one, true, nil
	}
	return one, one.Name == want.Type, nil
}

// longPayload is the size above which lists omit a payload.
const longPayload = 16 << 10

// Listed returns the payload for a list: nil for a long one.
func (e *BrowsedEvent) Listed() json.RawMessage {
	if len(e.Payload) > longPayload {
		return nil
	}
	return e.Payload
}

// Event reads one event by a cursor that points into it or just after it; false if there is none.
func (b Browser) Event(ctx context.Context, cursor int64) (BrowsedEvent, bool, error) {
	at := cursor / framesPerEvent
	records, err := b.Journal.Browse(ctx, journal.Selection{After: at - 1, Before: at + 1, Limit: 1})
	if err != nil || len(records) == 0 {
		return BrowsedEvent{}, false, err
	}
	one, _, err := browsedOf(records[0], Browse{Session: records[0].SessionID})
	return one, err == nil, err
}
