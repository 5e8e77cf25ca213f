package opencode

import (
	"encoding/json"
	"testing"

	"harness/runtime/opencode/bridge"
)

// What is stored while a text grows does not grow with it: ten times the pieces are ten times the cost.
func TestWhatATextCostsDoesNotGrowWithIt(t *testing.T) {
	t.Parallel()
	const few, many = 300, 3000
	stored := func(pieces int) (bytes, largest int) {
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
		for range pieces {
			say("message.part.delta", `"messageID":"msg_2","partID":"prt_2","field":"text","delta":"twenty letters or so "`)
		}
		if len(s.Talks) != 1 || s.Talks["ses_1"].find("prt_2") == nil {
			t.Fatalf("no text grows: %+v", s)
		}
		return bytes, largest
	}
	fewBytes, _ := stored(few)
	manyBytes, largest := stored(many)
	// The length of what was told is a number in it, which has more digits in the end.
	if manyBytes > (fewBytes+8*few)*many/few || largest > 2048 {
		t.Errorf("%d pieces store %d bytes, %d store %d, up to %d at once", few, fewBytes, many, manyBytes, largest)
	}
}
