package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
	"harness/tests/runtimetest"
)

// chunk returns a line that adds to a message, put a line that adds to the output of a command.
func chunk(text string) *line {
	said, _ := json.Marshal(text) // texts encode
	return &line{Method: words.Update, Params: json.RawMessage(
		`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` +
			string(said) + `}}}`)}
}

func put(call, text string) *line {
	said, _ := json.Marshal(text) // texts encode
	return &line{Method: words.Update,
		Params: json.RawMessage(`{"sessionId":"s","update":{"sessionUpdate":"tool_call_update",` +
			`"toolCallId":"` + call + `","_meta":{"terminal_output_delta":{"data":` + string(said) + `}}}}`)}
}

func command(call string) *line {
	return &line{Method: words.Update,
		Params: json.RawMessage(`{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"` +
			call + `","kind":"execute","status":"in_progress","rawInput":{"command":"make"}}}`)}
}

func over(call string) *line {
	return &line{Method: words.Update, Params: json.RawMessage(
		`{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"` + call + `","status":"completed"}}`)}
}

func begun(profile *Profile) *heir {
	h := &heir{translator: translator{profile: profile, threads: map[string]string{"s": "thread"}}}
	h.begin("s", conversation{Thread: "thread", Turn: "t"}, userItem{Type: wire.ItemUserMessage, ID: "t:user"}, 1)
	return h
}

// An image in an agent's message is an item with its bytes, between the texts before and after it.
func TestAnAgentShowsAnImage(t *testing.T) {
	t.Parallel()
	profile := CodexBridge()
	profile.ErrorsAsText = false
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	h := begun(&profile)
	image := &line{Method: words.Update, Params: json.RawMessage(`{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk",` +
		`"content":{"type":"image","mimeType":"image/png","data":"` + png + `"}}}`)}
	var items []runtime.Item
	for _, one := range []*line{chunk("before"), image, chunk("after"), {ID: json.RawMessage(`"turn:t"`), Result: json.RawMessage(`{"stopReason":"end_turn"}`)}} {
		signals, _ := h.said(one, 2)
		for _, signal := range signals {
			if change, is := signal.Change.(runtime.ItemChanged); is && change.Done {
				items = append(items, change.Item)
			}
		}
	}
	if len(items) != 3 || items[0].Content != "before" || items[1].Content != "[image]" || items[2].Content != "after" ||
		len(items[1].Images) != 1 || string(items[1].Images[0].Base64) != png || items[1].Images[0].Said != "[image]" {
		t.Errorf("the items are %+v", items)
	}
}

// The stored data for each delta of a message or of a command's output does not grow with the text: ten times the
// deltas cost ten times as much.
func TestCostOfDeltaIsConstant(t *testing.T) {
	t.Parallel()
	profile := CodexBridge()
	profile.ErrorsAsText = false
	const part, few, many = "twenty letters or so ", 300, 3000
	for name, lines := range map[string]func() (first, next *line){
		"a message": func() (first, next *line) { return chunk(part), chunk(part) },
		"a command": func() (first, next *line) { return command("c"), put("c", part) },
	} {
		stored := func(chunks int) (bytes, largest int) {
			h := begun(&profile)
			first, next := lines()
			h.feed(first, 2, maxSpan)
			for range chunks {
				before := h.stored
				h.feed(next, 2, maxSpan)
				if string(h.stored) != string(before) {
					bytes, largest = bytes+len(h.stored), max(largest, len(h.stored))
				}
			}
			return bytes, largest
		}
		fewBytes, _ := stored(few)
		manyBytes, largest := stored(many)
		if manyBytes > fewBytes*many/few+1024 || largest > 2048 {
			t.Errorf("%s: %d pieces store %d bytes, %d store %d, up to %d at once", name, few, fewBytes, many,
				manyBytes, largest)
		}
	}
}

// A server that resumes at any line publishes the whole message, and all output of a command. That holds even if more
// output came in between than the spool keeps for rereading.
func TestTextIsReread(t *testing.T) {
	t.Parallel()
	profile := CodexBridge()
	profile.ErrorsAsText = false
	for _, span := range []int64{0, 1, 3, maxSpan} {
		h := begun(&profile)
		var said []runtime.Signal
		feed := func(l *line) {
			h.resume()
			said = append(said, h.feed(l, 2, span)...)
		}
		feed(command("c"))
		feed(put("c", "one "))
		feed(chunk("Gr"))
		feed(put("c", "two "))
		feed(chunk("üße "))
		feed(chunk("\u2028<&>"))
		feed(put("c", strings.Repeat("three ", 100_000)))
		feed(put("c", "four"))
		feed(over("c"))
		feed(&line{ID: json.RawMessage(`"turn:t"`), Result: json.RawMessage(`{"stopReason":"end_turn"}`)})
		all := append(begun(&profile).begin("s", conversation{Thread: "thread", Turn: "t"},
			userItem{Type: wire.ItemUserMessage, ID: "t:user"}, 1), said...)
		runtimetest.CheckRules(t, runtimetest.Rules{Tidy: true}, all, false)
		var message, output string
		for _, signal := range said {
			if change, is := signal.Change.(runtime.ItemChanged); is && change.Done {
				switch change.Item.Type {
				case wire.ItemAgentMessage:
					message += change.Item.Content
				case wire.ItemCommand:
					output = string(signal.Raw)
				}
			}
		}
		if message != "Grüße \u2028<&>" || !strings.Contains(output, "three four") || strings.Contains(output, "one two") ||
			len(output) < maxOutput {
			t.Errorf("over %d lines: the message is %q, the command has put out %d bytes: %.60s ... %.60s", span, message,
				len(output), output, output[max(0, len(output)-60):])
		}
	}
}

// The state of a turn is bounded for any output and any number of open items, and so is the kept output of the
// process.
func TestTheStateIsBounded(t *testing.T) {
	t.Parallel()
	profile := OpenCode()
	h := begun(&profile)
	const span = 50
	for i := range 3 * maxTools {
		id := "call-" + jsonInt(i)
		h.feed(command(id), 2, span)
		h.feed(put(id, "some output"), 2, span)
		h.feed(chunk(strings.Repeat("y", maxText/8)), 2, span)
		h.feed(&line{ID: json.RawMessage(jsonInt(i)), Method: words.Permission, Params: json.RawMessage(
			`{"sessionId":"s","toolCall":{"toolCallId":"` + id + `"},"options":[{"optionId":"o","kind":"allow_once"}]}`)}, 2,
			span)
		of := h.state.Conversations["s"]
		if len(of.Tools) > maxTools || len(of.Ended) > maxEnded || len(of.Asked) > maxAsked {
			t.Fatalf("%d calls, %d ended ones and %d requests are remembered", len(of.Tools), len(of.Ended), len(of.Asked))
		}
		if needs := h.state.needs(); needs > 0 && h.upTo-needs >= span {
			t.Fatalf("%d lines are kept", h.upTo-needs)
		}
	}
	last := "call-" + jsonInt(3*maxTools-1)
	for range 3 {
		h.feed(put(last, strings.Repeat("x", maxOutput)), 2, 1)
	}
	if len(h.stored) > maxOutput+maxText+maxTools*1024 {
		t.Errorf("the state takes %d bytes", len(h.stored))
	}
}
