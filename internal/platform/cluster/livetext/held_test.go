package livetext

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"harness/internal/platform/journal"
)

func delta(session, text string) journal.Event {
	return journal.Event{SessionID: session, Payload: json.RawMessage(text)}
}

func record(pos int64, session string) journal.Record {
	return journal.Record{Event: journal.Event{SessionID: session}, Pos: pos}
}

func payloads(events []journal.Event) (all []string) {
	for _, e := range events {
		all = append(all, string(e.Payload))
	}
	return all
}

// An ephemeral event waits for the stored events before it, and is not shown after a later stored event of its
// session.
func TestHeldEventIsShownInOrderOrDropped(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := held{last: map[string]int64{}}
	h.begin(10)
	for i, e := range []struct {
		after   int64
		session string
	}{{10, "a"}, {9, "a"}, {12, "a"}, {11, "b"}, {12, "b"}, {13, "b"}} {
		if !h.add(e.after, delta(e.session, fmt.Sprint(i)), now) {
			t.Fatal("there is room")
		}
	}
	for _, step := range []struct {
		stored  []journal.Record
		later   time.Duration
		want    []string
		dropped int
	}{
		{nil, 0, []string{"0"}, 1}, // one event is older than the known state
		{[]journal.Record{record(11, "c")}, 0, []string{"3"}, 0},
		{[]journal.Record{record(12, ""), record(13, "a")}, 0, []string{"4", "5"}, 1}, // session a has stored a later event
		{[]journal.Record{record(20, "a")}, 0, nil, 0},
	} {
		h.stored(step.stored)
		if due, dropped := h.due(now.Add(step.later)); !slices.Equal(payloads(due), step.want) || dropped != step.dropped {
			t.Errorf("at %d: %q are shown and %d dropped, want %q and %d", h.head, payloads(due), dropped, step.want, step.dropped)
		}
	}
	h.add(30, delta("b", "late"), now)
	h.stored([]journal.Record{record(30, "c")})
	if due, dropped := h.due(now.Add(maxWait + 1)); len(due) != 0 || dropped != 1 || h.size != 0 {
		t.Errorf("after it waited for too long: %q shown, %d dropped, %d bytes are held", payloads(due), dropped, h.size)
	}
}

// Held events and known session positions are bounded; a forgotten position is not guessed.
func TestHeldEventsAreBounded(t *testing.T) {
	t.Parallel()
	now := time.Now()
	h := held{last: map[string]int64{}}
	for i := range maxHeld {
		if !h.add(1, delta("a", "x"), now) {
			t.Fatalf("no room for the %dth", i)
		}
	}
	if h.add(1, delta("a", "x"), now) {
		t.Error("there is room for more than the bound")
	}
	h.due(now.Add(2 * maxWait))
	if large := string(make([]byte, maxHeldSize/2)); !h.add(1, delta("a", large), now) || h.add(1, delta("a", large+"x"), now) {
		t.Error("bytes are not bounded")
	}
	h.due(now.Add(2 * maxWait))
	for i := range maxSessions + 1 {
		h.stored([]journal.Record{record(int64(i+1), fmt.Sprint(i))})
	}
	if len(h.last) > maxSessions {
		t.Errorf("%d sessions are remembered", len(h.last))
	}
	h.add(5, delta("7", "stored at 8 already"), now)
	if due, dropped := h.due(now); len(due) != 0 || dropped != 1 {
		t.Errorf("%q shown, %d dropped", payloads(due), dropped)
	}
}
