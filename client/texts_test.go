package client

import (
	"encoding/json"
	"testing"
)

// at returns a frame with a text at an offset.
func at(method string, offset int64, params map[string]any) Frame {
	payload, err := json.Marshal(map[string]any{"method": method, "params": params})
	if err != nil {
		panic(err) // all callers pass maps of texts and numbers
	}
	return Frame{Type: "notification", Payload: payload, Offset: &offset}
}

const said = "item/agentMessage/delta"

func delta(item string, offset int64, text string) Frame {
	return at(said, offset, map[string]any{"itemId": item, "delta": text})
}

// Each character is returned once, even if frames repeat, split differently, or follow a gap. Lengths are in
// UTF-16 code units: 🙂 has two.
func TestTextsReturnEachCharacterOnce(t *testing.T) {
	t.Parallel()
	var texts Texts
	for i, step := range []struct {
		frame Frame
		want  string
	}{
		{delta("a", 0, "one "), "one "},
		{delta("a", 4, "🙂 two"), "🙂 two"},
		{delta("b", 0, "other"), "other"},
		{delta("a", 4, "🙂 two"), ""},                 // repeated
		{delta("a", 0, "one 🙂 two three"), " three"}, // stored as a whole
		{delta("a", 9, "o three"), ""},               // part of a stored text
		{delta("a", 20, "far"), "far"},               // after a gap
		{delta("a", 16, "gap far, on"), ", on"},      // late: it would be out of order
		{delta("b", 5, ""), ""},                      // empty
		{at("item/reasoning/textDelta", 0, map[string]any{"itemId": "a", "delta": "x", "contentIndex": 0}), "x"},
		{at("item/reasoning/textDelta", 0, map[string]any{"itemId": "a", "delta": "y", "contentIndex": 1}), "y"},
		{at("item/reasoning/textDelta", 0, map[string]any{"itemId": "a", "delta": "xz", "contentIndex": 0}), "z"},
	} {
		if _, method, got := texts.Added(&step.frame); got != step.want || method == "" {
			t.Errorf("step %d, %s: added %q by %q, want %q", i, step.frame.Payload, got, method, step.want)
		}
	}
	item, method, _ := texts.Added(&Frame{Type: "notification", Offset: new(int64), Payload: delta("c", 0, "x").Payload})
	if item != "c" || method != said {
		t.Errorf("it is of %q by %q", item, method)
	}
}

// The start or end of an item discards the state of its texts: they restart, and a long-running follower does not grow.
func TestTextsEndWithTheirItem(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"item/started", "item/completed"} {
		var texts Texts
		first := delta("a", 0, "text")
		texts.Added(&first)
		edge := at(method, 0, map[string]any{"item": map[string]any{"id": "a"}})
		edge.Offset = nil
		if item, _, text := texts.Added(&edge); item != "" || text != "" {
			t.Errorf("%s adds %q to %q", method, text, item)
		}
		if len(texts.sent) != 0 {
			t.Errorf("after %s %d items are known", method, len(texts.sent))
		}
		if _, _, text := texts.Added(&first); text != "text" {
			t.Errorf("after %s: %q", method, text)
		}
	}
}

// Frames without text add none.
func TestOtherFramesAddNoText(t *testing.T) {
	t.Parallel()
	var texts Texts
	plain := delta("a", 0, "text")
	plain.Offset = nil
	other := delta("a", 0, "text")
	other.Type = "approval"
	for _, frame := range []Frame{plain, other, {Type: "notification", Offset: new(int64), Payload: json.RawMessage(`[1]`)}, {}} {
		if item, method, text := texts.Added(&frame); item != "" || method != "" || text != "" {
			t.Errorf("%s %s adds %q to %q by %q", frame.Type, frame.Payload, text, item, method)
		}
	}
}
