package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/internal/platform/journal"
)

func TestTextLength(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		``: 0, `a`: 1, `é`: 1, `漢`: 1, `😀`: 2, `\n\"\\`: 3, `\u0000`: 1, `\ud83d\ude00`: 2, `\ud83d`: 1, `a😀\u00e9\\u`: 6,
	} {
		if got := TextLength([]byte(text)); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// textEvent returns a delta as package session makes it; text is in JSON form without its quotes.
func textEvent(thread, text string, ref TextRef) journal.Event {
	const head = `{"method":"item/agentMessage/delta","params":{"itemId":"m","delta":`
	ref.At, ref.Length = len(head), TextLength([]byte(text))
	return Upcast(1, journal.Event{Type: EventNotification, SessionID: thread,
		Payload: json.RawMessage(head + `"` + text + `"}}`), Meta: EncodeMeta(Meta{ReceivedAt: 1, Text: &ref})})
}

// The rest of a stored delta starts at the requested offset, whatever its characters are, and states that offset.
func TestTextRemainder(t *testing.T) {
	t.Parallel()
	const text = `a😀\u00e9\"漢\ud83d\ude00é`
	record := journal.Record{Event: textEvent("A", text, TextRef{Group: 1, Offset: 100}), Pos: 1, Seq: 1}
	for from, want := range map[int64]string{100: text, 101: `😀\u00e9\"漢\ud83d\ude00é`, 103: `\u00e9\"漢\ud83d\ude00é`,
		104: `\"漢\ud83d\ude00é`,
		105: `漢\ud83d\ude00é`, 106: `\ud83d\ude00é`, 107: `\ude00é`, 108: `é`, 109: ``} {
		rest, err := remainderOf(record, from)
		if err != nil {
			t.Fatal(err)
		}
		if string(rest.Payload) != string(textEvent("A", want, TextRef{}).Payload) {
			t.Errorf("from %d: %s", from, rest.Payload)
		}
		frames, err := Frames(rest)
		if err != nil || frames[0].Text.Offset != from || frames[0].Text.Length != 109-from {
			t.Errorf("from %d: %v, %+v", from, err, frames[0].Text)
		}
	}
	record.Meta = json.RawMessage(`{"text":{"at":9999}}`)
	if _, err := remainderOf(record, 1); err == nil {
		t.Error("a text out of its event was cut")
	}
}

// The frames of one group for each client, depending on when it joined: with positions a delta has its offset, without
// them it is unchanged.
func TestDeltasOrJoinedText(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	early := joinAtHead(t, h, "")
	_, plain := join(t, h, "A")
	mover, moved := join(t, h, "")
	j.PublishEphemeral(textEvent("A", "one ", TextRef{Group: 1, First: true}))
	late := joinAtHead(t, h, "")
	early.wait(t, "a piece", func() bool { return len(early.received) == 3 }) // ready, two frames
	j.PublishEphemeral(textEvent("A", "two ", TextRef{Group: 1, Offset: 4}))
	mover.setFilter("A") // frames due to it stay due, and it continues with the next part
	appendAll(t, j, textEvent("A", "one two ", TextRef{Group: 1}))
	j.PublishEphemeral(textEvent("A", "three", TextRef{Group: 2, Offset: 8, First: true}))
	appendAll(t, j, textEvent("A", "three", TextRef{Group: 2, Offset: 8}), broadcastEvent("B", "the end"))

	notifications := func(conn *fakeConn) string {
		conn.wait(t, "the end", func() bool { return strings.Contains(strings.Join(conn.received, ""), "the end") })
		var all []string
		for _, text := range conn.texts() {
			if rest, is := strings.CutPrefix(text,
				`{"type":"notification","threadId":"A","payload":{"method":"item/agentMessage/delta","params":{"itemId":"m","delta":`); is {
				all = append(all, rest)
			}
		}
		return strings.Join(all, " ")
	}
	deltas := func(offsets string) string {
		return fmt.Sprintf(`"one "}}%s "two "}}%s "three"}}%s`, of(offsets, 0), of(offsets, 4), of(offsets, 8))
	}
	for name, c := range map[string]struct {
		conn *fakeConn
		want string
	}{
		"there from the start": {early, deltas(`,"offset":%d}`)},
		"without positions":    {plain, deltas(`}`)},
		"came in the middle":   {late, `"one two "}},"pos":17,"seq":1,"offset":0} "three"}},"offset":8}`},
		"changed its filter":   {moved, deltas(`}`)},
	} {
		if got := notifications(c.conn); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

// joinAtHead attaches a client with positions that is live at once.
func joinAtHead(t *testing.T, h *Hub, filter string) *fakeConn {
	t.Helper()
	c, conn := join(t, h, filter)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.positions = true
	return conn
}

func of(format string, offset int) string {
	if strings.Contains(format, "%d") {
		return fmt.Sprintf(format, offset)
	}
	return format
}

// A client that falls behind in the middle of a group gets the rest from the journal.
func TestRemainderComesFromTheJournal(t *testing.T) {
	t.Parallel()
	for _, positions := range []bool{true, false} {
		t.Run(fmt.Sprint(positions), func(t *testing.T) {
			t.Parallel()
			j := newMemoryJournal()
			h := startHub(t, j, Options{RingFrames: 4})
			_, conn := join(t, h, "A")
			if positions {
				conn = joinAtHead(t, h, "A")
			}
			j.PublishEphemeral(textEvent("A", "😀 ", TextRef{Group: 1, First: true}))
			conn.wait(t, "a piece", func() bool { return strings.Contains(strings.Join(conn.received, ""), `"notification"`) })
			conn.set(func() { conn.blocked = true })
			for n := range 4 {
				j.PublishEphemeral(textEvent("A", "more ", TextRef{Group: 1, Offset: int64(3 + 5*n)}))
			}
			appendAll(t, j, textEvent("A", "😀 more more more more ", TextRef{Group: 1}), broadcastEvent("B", "the end"))
			conn.set(func() { conn.blocked = false })
			conn.wait(t, "the end", func() bool { return strings.Contains(strings.Join(conn.received, ""), "the end") })
			texts := map[string]string{}
			for _, text := range conn.texts() {
				var frame struct {
					Type    string
					Offset  int64
					Payload struct{ Params struct{ Delta string } }
				}
				if json.Unmarshal([]byte(text), &frame) != nil {
					continue
				}
				if positions && frame.Payload.Params.Delta != "" && int(frame.Offset) != len(utf16Of(texts[frame.Type])) {
					t.Errorf("%d units so far: %s", len(utf16Of(texts[frame.Type])), text)
				}
				texts[frame.Type] += frame.Payload.Params.Delta
			}
			want := "😀 more more more more "
			if got := texts["notification"]; got != want && (positions || !strings.HasPrefix(want, got)) {
				t.Errorf("text %q", got)
			}
		})
	}
}

// A node may end before it has stored published text, and then publishes it again in other groups. Clients that had it
// get only the new part, and later clients get the whole text.
func TestRestartedOwnerResendsText(t *testing.T) {
	t.Parallel()
	j := newMemoryJournal()
	h := startHub(t, j, Options{})
	_, plain := join(t, h, "A")
	publishText := func(text string, group, offset int64, first bool) {
		j.PublishEphemeral(textEvent("A", text, TextRef{Group: group, Offset: offset, First: first, Into: "content"}))
	}
	store := func(text string, group, offset int64) {
		appendAll(t, j, textEvent("A", text, TextRef{Group: group, Offset: offset, Into: "content"}))
	}
	publishText("one ", 1, 0, true)
	publishText("two ", 1, 4, false)
	publishText("three ", 1, 8, false)
	// The owner's server ends here. The next one reads its agent's output again.
	publishText("one ", 21, 0, true)
	late := joinAtHead(t, h, "")
	store("one ", 21, 0)
	publishText("two ", 22, 4, true)
	publishText("three ", 22, 8, false)
	publishText("four ", 22, 14, false)
	store("two three four five ", 22, 4)
	publishText("six", 23, 24, true)
	store("six", 23, 24)
	appendAll(t, j, broadcastEvent("B", "the end"))
	for who, conn := range map[string]*fakeConn{"one that was there": plain, "one that came late": late} {
		conn.wait(t, "the end", func() bool { return strings.Contains(strings.Join(conn.received, ""), "the end") })
		var text string
		for _, frame := range conn.texts() {
			if !strings.HasPrefix(frame, `{"type":"notification"`) {
				continue
			}
			var frameJSON struct {
				Payload struct{ Params struct{ Delta string } }
			}
			if err := json.Unmarshal([]byte(frame), &frameJSON); err != nil {
				t.Fatal(err)
			}
			text += frameJSON.Payload.Params.Delta
		}
		if text != "one two three four five six" {
			t.Errorf("%s has %q", who, text)
		}
	}
}
