package stream

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"harness/internal/platform/journal"
)

// session is one part of a client's life that starts at a cursor: a connection, or the time after a subscribe with
// after. It is the reference for the hub: a plain fold over all records.
type session struct {
	after int64
	spans []span // filters and the journal position they applied until; the last one is open
}

func newSession(after int64, filter string) *session {
	return &session{after: after, spans: []span{{until: -1, filter: filter}}}
}

// change records a filter change at the journal's head pos.
func (s *session) change(pos int64, filter string) {
	s.spans[len(s.spans)-1].until = pos
	s.spans = append(s.spans, span{until: -1, filter: filter})
}

// expected returns the frames due to the client, encoded with positions.
func (s *session) expected(t *testing.T, records []journal.Record) []string {
	t.Helper()
	var all reference
	all.add(t, records)
	return positioned(all.owed(s))
}

// reference holds the frames of all records, each derived once.
type reference struct{ events [][]owedFrame }

// owedFrame is a frame as clients with and without positions see it.
type owedFrame struct {
	Frame
	positioned, plain string
}

// add adds the records that it does not have yet.
func (r *reference) add(t *testing.T, records []journal.Record) {
	t.Helper()
	for _, rec := range records[len(r.events):] {
		frames, err := Frames(rec)
		if err != nil {
			t.Fatal(err)
		}
		event := make([]owedFrame, len(frames))
		for i := range frames {
			event[i] = owedFrame{frames[i], string(frames[i].AppendJSON(nil, true)), string(frames[i].AppendJSON(nil, false))}
		}
		r.events = append(r.events, event)
	}
}

// owed returns the frames due to a session's client.
func (r *reference) owed(s *session) (out []owedFrame) {
	for _, event := range r.events {
		for i := range event {
			filter := ""
			for _, sp := range s.spans {
				filter = sp.filter
				if sp.until < 0 || eventOf(event[i].Pos) <= sp.until {
					break
				}
			}
			if event[i].Pos > s.after && event[i].visible(filter) {
				out = append(out, event[i])
			}
		}
	}
	return out
}

func positioned(frames []owedFrame) (out []string) {
	for i := range frames {
		out = append(out, frames[i].positioned)
	}
	return out
}

// positionOf returns the pos of a frame.
func positionOf(t *testing.T, text string) int64 {
	t.Helper()
	var frame struct {
		Pos *int64 `json:"pos"`
	}
	if err := json.Unmarshal([]byte(text), &frame); err != nil || frame.Pos == nil {
		t.Fatalf("no position in %s", text)
	}
	return *frame.Pos
}

// randomEvent returns events that cover every way of delivery.
func randomEvent(random *rand.Rand, name string) journal.Event {
	threads := []string{"A", "B"}
	thread := threads[random.IntN(len(threads))]
	switch random.IntN(9) {
	case 0:
		return broadcastEvent(thread, name)
	case 1:
		return plainEvent("", name)
	case 2:
		return accountEvent(name)
	case 3:
		return systemOwned(plainEvent("S", name))
	case 4:
		return systemOwned(broadcastEvent("S", name))
	case 5:
		event := plainEvent(thread, name)
		event.Type = "internal.event"
		return event
	case 6:
		return plainEvent(thread, name)
	default:
		return tokenEvent(thread, name)
	}
}

func randomFilter(random *rand.Rand) string { return []string{"", "A", "B", "S"}[random.IntN(4)] }

// requireEqual compares frames and names the first difference.
func requireEqual(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("%s: %d of %d frames, missing %s", what, len(got), len(want), want[i])
		case i >= len(want):
			t.Fatalf("%s: %d frames too many, first %s", what, len(got)-len(want), got[i])
		case got[i] != want[i]:
			t.Fatalf("%s: frame %d\n got %s\nwant %s", what, i, got[i], want[i])
		}
	}
}

func eventName(seed uint64, n int) string { return fmt.Sprintf("%d/%d", seed, n) }

// span is a filter that applied up to and including a journal position.
type span struct {
	until  int64
	filter string
}
