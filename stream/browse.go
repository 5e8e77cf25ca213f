package stream

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
)

// Browse selects events of the journal for display. An empty field does not filter.
type Browse struct {
	// After lists what follows a cursor, the oldest first; Before what was before one, the newest first. With neither the
	// newest events come first.
	After, Before *int64
	// Session selects the events of one session, Actor those caused by one actor. Type matches
	// BrowsedEvent.Name; a trailing * matches a prefix.
	Session, Actor, Type string
	// Since and Until bound the time (ms): at Since or later, and before Until.
	Since, Until int64
	// Limit is how many events are wanted at most.
	Limit int
}

// BrowsedEvent is an event as it is listed.
type BrowsedEvent struct {
	journal.Record
	// Cursor is that of the event stream behind the event.
	Cursor int64
	// Name is the method of what a runtime said, else the type.
	Name string
	// Runtime says that a runtime said it.
	Runtime bool
}

// BrowsedPage is what was found.
type BrowsedPage struct {
	Events []BrowsedEvent
	// Next goes on (as the next After, or Before); nil at the end. A page may have few events and yet have a next one:
	// what is looked through for one page is bounded.
	Next *int64
	// Head is the cursor at which the answer is true.
	Head int64
}

// browsed is how many positions one page looks through, browsedAtOnce how many of them at once.
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
	low, high := oldest-1, head+1 // what is looked through lies between
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

// nextOf is the cursor that goes on behind the event at a position, or before it.
func nextOf(pos int64, backwards bool) *int64 {
	next := CursorAfter(pos)
	if backwards {
		next = startOf(pos)
	}
	return &next
}

// browsedOf is an event as it is listed, false when it is not.
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

// longPayload is from how many bytes on a list leaves a payload out.
const longPayload = 16 << 10

// Listed is the payload as lists show it: nil for a long one.
func (e *BrowsedEvent) Listed() json.RawMessage {
	if len(e.Payload) > longPayload {
		return nil
	}
	return e.Payload
}

// Event reads one event by a cursor that points into it or behind it; false when there is none.
func (b Browser) Event(ctx context.Context, cursor int64) (BrowsedEvent, bool, error) {
	at := cursor / framesPerEvent
	records, err := b.Journal.Browse(ctx, journal.Selection{After: at - 1, Before: at + 1, Limit: 1})
	if err != nil || len(records) == 0 {
		return BrowsedEvent{}, false, err
	}
	one, _, err := browsedOf(records[0], Browse{Session: records[0].SessionID})
	return one, err == nil, err
}
