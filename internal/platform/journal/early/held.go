package early

import (
	"time"

	"harness/internal/platform/journal"
)

// Bounds of what waits to be shown, of how long, and of how many sessions it is known where they are.
const (
	maxHeld     = 4096
	maxHeldSize = 4 << 20
	maxWait     = time.Second
	maxSessions = 4096
)

// held is what came of other nodes and waits until what is stored before it is shown, in the order in which it came.
type held struct {
	head, floor int64
	last        map[string]int64 // by session: the position of its last event that was shown; none: at most floor
	events      []waiting
	size        int
}

// waiting is an event, and the position after which it stands.
type waiting struct {
	after int64
	came  time.Time
	event journal.Event
}

// begin: of what was shown until then it is not known of which sessions it was.
func (h *held) begin(head int64) {
	h.head, h.floor = max(h.head, head), max(h.floor, head)
}

// stored notes what was shown.
func (h *held) stored(records []journal.Record) {
	for i := range records {
		h.head = max(h.head, records[i].Pos)
		if records[i].SessionID != "" {
			h.last[records[i].SessionID] = records[i].Pos
		}
	}
	if len(h.last) > maxSessions {
		clear(h.last)
		h.floor = h.head
	}
}

// add takes an event to wait; false when there is no room.
func (h *held) add(after int64, event journal.Event, now time.Time) bool {
	size := len(event.Payload)
	if len(h.events) >= maxHeld || h.size+size > maxHeldSize {
		return false
	}
	h.events = append(h.events, waiting{after, now, event})
	h.size += size
	return true
}

// due removes and returns the events to show now, and counts those dropped. An event is dropped once its
// session has stored a later one, which may already contain it.
func (h *held) due(now time.Time) (due []journal.Event, dropped int) {
	kept := h.events[:0]
	h.size = 0
	for _, w := range h.events {
		last, known := h.last[w.event.SessionID]
		if !known {
			last = h.floor
		}
		switch {
		case last > w.after || now.Sub(w.came) > maxWait:
			dropped++
		case w.after <= h.head:
			due = append(due, w.event)
		default:
			kept = append(kept, w)
			h.size += len(w.event.Payload)
		}
	}
	clear(h.events[len(kept):])
	h.events = kept
	return due, dropped
}
