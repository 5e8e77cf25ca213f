package opencode

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
	"harness/tests/runtimetest"
)

// The stored data for each delta of a text does not grow with the text: ten times the deltas cost ten times as much.
func TestCostOfDeltaIsConstant(t *testing.T) {
	t.Parallel()
	const few, many = 300, 3000
	stored := func(deltas int) (bytes, largest int) {
		var s state
		say := func(kind, properties string) {
			l := bridge.Line{Event: json.RawMessage(`{"type":"` + kind + `","properties":{"sessionID":"ses_1",` + properties + `}}`),
				Directory: "/w"}
			_, _ = s.translate(l, 1, func(string) string { return "session" })
			raw, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			bytes, largest = bytes+len(raw), max(largest, len(raw))
		}
		say("message.updated", `"info":{"id":"msg_1","role":"user","sessionID":"ses_1","time":{"created":1}}`)
		say("message.part.updated", `"part":{"id":"prt_1","messageID":"msg_1","sessionID":"ses_1","type":"text","text":"hello"}`)
		say("message.updated", `"info":{"id":"msg_2","parentID":"msg_1","role":"assistant","sessionID":"ses_1","time":{"created":1}}`)
		say("message.part.updated",
			`"part":{"id":"prt_2","messageID":"msg_2","sessionID":"ses_1","type":"text","text":"","time":{"start":1}}`)
		for range deltas {
			say("message.part.delta", `"messageID":"msg_2","partID":"prt_2","field":"text","delta":"twenty letters or so "`)
		}
		if len(s.Conversations) != 1 || s.Conversations["ses_1"].find("prt_2") == nil {
			t.Fatalf("no text grows: %+v", s)
		}
		return bytes, largest
	}
	fewBytes, _ := stored(few)
	manyBytes, largest := stored(many)
	// The state holds the length of the published text, a number that grows by a few digits.
	if manyBytes > (fewBytes+8*few)*many/few || largest > 2048 {
		t.Errorf("%d pieces store %d bytes, %d store %d, up to %d at once", few, fewBytes, many, manyBytes, largest)
	}
}

// The state of a turn that never ends, with everything open and long names, is bounded and unchanged. Items beyond
// the bounds are published as ended, or refused.
func TestTheStateIsBounded(t *testing.T) {
	t.Parallel()
	var s state
	rules := runtimetest.Rules{Unresponsive: true}
	say := func(kind string, properties map[string]any) {
		properties["sessionID"] = "ses_1"
		l := bridge.Line{Event: encoded(map[string]any{"type": kind, "properties": properties}), Directory: "/w"}
		signals, _ := s.translate(l, 1, func(string) string { return "session" })
		for _, signal := range signals {
			if fault := rules.Take(signal); fault != "" {
				t.Fatalf("%s: %s", signal.Method, fault)
			}
		}
	}
	type object = map[string]any
	message := func(id, role string) {
		say("message.updated", object{"info": object{"id": id, "role": role, "parentID": "msg_1", "time": object{"created": 1}}})
	}
	message("msg_1", "user")
	message("msg_2", "assistant")
	long, call := strings.Repeat("w", 2*maxWords), strings.Repeat("c", 2*runtime.MaxID)
	say("session.updated", object{"info": object{"title": long}})
	say("session.error", object{"error": object{"name": "E", "data": object{"message": long}}})
	for i := range maxDone {
		id := fmt.Sprintf("%0*d", maxID, i)
		part := func(kind, id string, state object) object {
			return object{"part": object{"id": id, "messageID": "msg_2", "type": kind, "tool": "bash", "callID": call + id, "state": state}}
		}
		running := object{"status": "running", "input": object{"command": "ls"}}
		say("message.part.updated", part("tool", id, running))
		say("message.part.updated", part("tool", "e"+id[1:], running))
		say("message.part.updated", part("tool", "e"+id[1:], object{"status": "completed"}))
		say("message.part.updated", part("tool", id+"x", running))
		say("permission.asked", object{"id": id, "permission": "bash", "tool": object{"callID": call + id}})
		say("session.created", object{"info": object{"id": id, "parentID": "ses_1"}})
		message("u"+id[1:], "user")
	}
	in := s.Conversations["ses_1"]
	if in == nil || in.Turn != "msg_1" || len(in.Open) != maxOpen-1 || len(in.Done) != maxDone || len(in.Users) != maxUsers ||
		len(in.AwaitingText) > maxUsers || len(in.Asked) != maxAsked || len(in.Children) != maxChildren {
		t.Fatalf("it remembers %d items, %d that ended, %d and %d messages, %d requests, %d children", len(in.Open), len(in.Done),
			len(in.Users), len(in.AwaitingText), len(in.Asked), len(in.Children))
	}
	if stored := encoded(s); len(stored) > maxConversation || in.find(fmt.Sprintf("%0*d", maxID, maxDone-1)) == nil {
		t.Errorf("its state takes %d bytes, or it has forgotten the last call", len(stored))
	}
	for i := range 2 * maxConversations {
		l := bridge.Line{Sent: true, Event: encoded(map[string]any{"type": "message.updated", "properties": object{
			"sessionID": fmt.Sprint("ses_", i), "info": object{"id": fmt.Sprint("msg_t", i), "role": "user"}}})}
		_, _ = s.translate(l, 1, func(native string) string { return native })
	}
	if len(s.Conversations) != maxConversations {
		t.Errorf("it remembers %d turns", len(s.Conversations))
	}
}
