package claude

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"harness/runtime"
)

// FuzzTranslate feeds lines of any kind, in any order, as often as they like: nothing panics, no turn ends twice, the
// state can always be stored, and it does not grow without bound.
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
		longest, running := 0, ""
		for line := range bytes.Lines(input) {
			line = bytes.TrimSpace(line)
			longest = max(longest, len(line))
			signals, after := said(t, stored, line, 1_700_000_000_000)
			stored = after
			for _, signal := range signals {
				if !json.Valid(signal.Raw) || signal.ThreadID != "thread-1" {
					t.Fatalf("it said %s", signal.Raw)
				}
				// Ids may be said twice by a liar, but turns stay in order.
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
		if limit := 64<<20 + 8*longest; len(stored) > limit {
			t.Fatalf("a state of %d bytes after lines of at most %d", len(stored), longest)
		}
	})
}

// A conversation that never ends, whose calls and requests are never settled, is remembered within bounds.
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
	long := encode(map[string]string{"command": strings.Repeat("x", 2*maxDetail)})
	feed(event{Type: "assistant",
		Message: message{ID: "m", Content: parts{{Type: "tool_use", ID: "long", Name: toolShell, Input: long}}}})
	if call := s.call("long"); call == nil || len(call.Input) > maxDetail {
		t.Errorf("it remembers %+v", call)
	}
}
