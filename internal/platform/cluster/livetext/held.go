package livetext

import (
	"time"

	"harness/internal/platform/journal"
)

// Bounds of the number of held events, of the time for which one is held, and of the number of sessions with a known
// position.
const (
	maxHeld     = 4096
	maxHeldSize = 4 << 20
	maxWait     = time.Second
	maxSessions = 4096
)

// held are the events of other nodes, in order of arrival, which wait until the stored events before them are shown.
type held struct {
	head, floor int64
	last        map[string]int64 // by session: the position of its last shown event; if absent, at most floor
	events      []heldEvent
	size        int
}

// heldEvent is an event and the position that it follows.
type heldEvent struct {
	after int64
	came  time.Time
	event journal.Event
}

// begin records that the sessions of the records up to head are unknown.
func (h *held) begin(head int64) {
	h.head, h.floor = max(h.head, head), max(h.floor, head)
}

// stored records the shown events.
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

// add holds an event; false if there is no room.
func (h *held) add(after int64, event journal.Event, now time.Time) bool {
	size := len(event.Payload)
	if len(h.events) >= maxHeld || h.size+size > maxHeldSize {
		return false
	}
	h.events = append(h.events, heldEvent{after, now, event})
	h.size += size
	return true
}

// due removes and returns the events to show now, and counts the dropped ones. An event is dropped once its session has
// stored a later one, which may already contain it.
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
