package claude

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"harness/internal/runtime"
)

// FuzzTranslate processes lines of any kind, in any order and number. It must not panic, no turn may end twice, and
// the state must always be storable and bounded.
func FuzzTranslate(f *testing.F) {
	for _, scenario := range []string{"approve", "subagent", "todo"} {
		raw, err := os.ReadFile(filepath.Join("testdata", scenario+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		var native [][]byte
		for line := range bytes.Lines(raw) {
			var one recorded
			if json.Unmarshal(line, &one) == nil && one.Line != nil {
				native = append(native, one.Line)
			}
		}
		f.Add(bytes.Join(native, []byte("\n")))
	}
	f.Add([]byte(`{"type":"user","isReplay":true,"uuid":"u","message":{"content":[1,{"type":7}]}}`))
	f.Fuzz(func(t *testing.T, input []byte) {
		var stored []byte
		running := ""
		for line := range bytes.Lines(input) {
			line = bytes.TrimSpace(line)
			signals, after := said(t, stored, line, 1_700_000_000_000)
			stored = after
			for _, signal := range signals {
				if _, is := signal.Change.(runtime.BackgroundChanged); !is && !json.Valid(signal.Raw) || signal.ThreadID != "thread-1" {
					t.Fatalf("it said %s", signal.Raw)
				}
				// A faulty agent may repeat ids, but turns stay in order.
				switch change := signal.Change.(type) {
				case runtime.TurnStarted:
					if running != "" {
						t.Fatalf("a turn began while %s ran: %s", running, signal.Raw)
					}
					running = change.TurnID
				case runtime.TurnCompleted:
					if running != change.TurnID {
						t.Fatalf("a turn ended that did not run: %s", signal.Raw)
					}
					running = ""
				}
			}
		}
		if len(stored) > maxState {
			t.Fatalf("a state of %d bytes", len(stored))
		}
	})
}

// The state of a conversation that never ends, with open calls and requests, is bounded.
func TestTheStateIsBounded(t *testing.T) {
	t.Parallel()
	s := state{Thread: "thread-1"}
	feed := func(e event) { s.translate(&e, 1) }
	feed(event{Type: "command_lifecycle", State: "started", Command: "turn"})
	input, err := json.Marshal(map[string]string{"command": strings.Repeat("x", 100)})
	if err != nil {
		t.Fatal(err)
	}
	for i := range maxTools + 50 {
		id := strconv.Itoa(i)
		feed(event{Type: "assistant",
			Message: message{ID: "m", Content: parts{{Type: "tool_use", ID: id, Name: toolShell, Input: input}}}})
		feed(event{Type: "control_request", RequestID: id,
			Request: control{Subtype: "can_use_tool", Tool: toolShell, Input: input, ToolUse: id}})
		feed(event{Type: "stream_event", Event: streamed{Type: "content_block_start", Index: i, Block: part{Type: "text"}}})
	}
	if len(s.Tools) != maxTools || len(s.Asked) != maxAsked || len(s.Blocks) > maxBlocks {
		t.Errorf("it remembers %d calls, %d requests, %d blocks", len(s.Tools), len(s.Asked), len(s.Blocks))
	}
	ids, long := strings.Repeat("x", 2*runtime.MaxID), strings.Repeat("x", maxDetail*2/3)
	feed(event{Type: "system", Subtype: "init", Cwd: long, Model: long})
	feed(event{Type: "assistant", APIError: true, Error: encode(long)})
	for i := range max(maxTools, maxSteps, maxAllowed) {
		id, input := strconv.Itoa(i)+ids, encode(map[string]string{"command": long, "subject": long})
		feed(event{Type: "assistant",
			Message: message{ID: "m", Content: parts{{Type: "tool_use", ID: id + "task", Name: toolNewTask, Input: input}}}})
		feed(event{Type: "user", Message: message{Content: parts{{Type: "tool_result", ToolUse: id + "task"}}},
			ToolUseResult: encode(map[string]any{"task": map[string]string{"id": id}})})
		feed(event{Type: "assistant",
			Message: message{ID: "m", Content: parts{{Type: "tool_use", ID: id, Name: ids, Input: input}}}})
		request := strings.Repeat("x", runtime.MaxID-8) + strconv.Itoa(i)
		feed(event{Type: "control_request", RequestID: request,
			Request: control{Subtype: "can_use_tool", Tool: "Bash", Input: encode(map[string]string{"command": long + id}), ToolUse: id}})
		feed(event{Type: "control_response", Response: answered{RequestID: request,
			Response: encode(map[string]any{"behavior": "allow", "updatedPermissions": []int{1}, "updatedInput": map[string]string{"command": id}})}})
		feed(event{Type: "control_request", RequestID: request + "2",
			Request: control{Subtype: "can_use_tool", Tool: ids, Input: input, ToolUse: id}})
	}
	if len(s.Plan) != maxSteps || len(s.Allowed) != maxAllowed || len(s.Asked) != maxAsked {
		t.Errorf("it remembers %d steps, %d rules, %d requests", len(s.Plan), len(s.Allowed), len(s.Asked))
	}
	if stored := encode(s); len(stored) > maxState {
		t.Errorf("its state takes %d bytes", len(stored))
	}
	feed(event{Type: "control_request", RequestID: strings.Repeat("r", runtime.MaxID+1),
		Request: control{Subtype: "can_use_tool", Tool: "Bash"}})
	if last := s.Asked[len(s.Asked)-1]; strings.HasPrefix(last.ID, "r") {
		t.Error("it remembers a request by an id that is too long")
	}
	long = string(encode(map[string]string{"command": strings.Repeat("x", 2*maxDetail)}))
	feed(event{Type: "assistant",
		Message: message{ID: "m", Content: parts{{Type: "tool_use", ID: "long", Name: toolShell, Input: json.RawMessage(long)}}}})
	if call := s.call("long"); call == nil || len(call.Input) > maxDetail {
		t.Errorf("it remembers %+v", call)
	}
}
