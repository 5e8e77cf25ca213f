package tasks_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/tasks"
)

// EV-10, EV-13: every output delta has its kind and its block, and the complete text has the same block; each count of
// usage has a separate name.
func TestOutputComesInItsBlocks(t *testing.T) {
	t.Parallel()
	line := func(method string, params map[string]any) runtime.Signal {
		params["threadId"], params["turnId"] = "s", "t"
		raw, err := json.Marshal(map[string]any{"method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		return runtime.Signal{Raw: raw}
	}
	tokens := wire.Tokens{Input: 11, Cached: 5, Output: 3, Reasoning: 2, Total: 14}
	var records []journal.Record
	for i, signal := range []runtime.Signal{
		wire.TurnStarted("s", wire.Turn{ID: "t", StartedAt: 1}),
		line(wire.MethodPlanDelta, map[string]any{"itemId": "p", "delta": "plan"}),
		line(wire.MethodReasoningDelta, map[string]any{"itemId": "r", "delta": "thought", "contentIndex": 1}),
		line(wire.MethodSummaryDelta, map[string]any{"itemId": "r", "delta": "summary", "summaryIndex": 0}),
		line(wire.MethodMessageDelta, map[string]any{"itemId": "m", "delta": "text"}),
		line("item/completed", map[string]any{"item": map[string]any{"type": "plan", "id": "p", "text": "plan"}}),
		line("item/completed", map[string]any{"item": map[string]any{"type": "reasoning", "id": "r", "summary": []string{"summary"},
			"content": []string{"before", "thought"}}}),
		line("item/completed", map[string]any{"item": map[string]any{"type": "agentMessage", "id": "m", "text": "text"}}),
		wire.TokenUsage(wire.Place{ThreadID: "s", TurnID: "t"}, tokens, tokens, 0),
		wire.TurnCompleted("s", wire.Turn{ID: "t", Status: runtime.TurnDone, StartedAt: 1, CompletedAt: 5}),
	} {
		one, ok := record(signal.Raw, int64(10*(i+1)))
		if !ok {
			t.Fatalf("%s is no line", signal.Raw)
		}
		records = append(records, one)
	}
	type block struct{ Kind, ID, Text string }
	var deltas, wholes []block
	var used struct{ Input, Cached, Output, Reasoning int64 }
	for _, e := range tasks.Events(tasks.About{SessionID: "s", Runtime: "some", CreatedAt: 1}, records) {
		var said struct {
			Kind      string `json:"kind"`
			BlockID   string `json:"block_id"`
			Delta     string `json:"delta"`
			Input     int64  `json:"input_tokens"`
			Cached    int64  `json:"cached_input_tokens"`
			Output    int64  `json:"output_tokens"`
			Reasoning int64  `json:"reasoning_tokens"`
		}
		_ = json.Unmarshal(e.Payload, &said)
		switch e.Type {
		case tasks.OutputDelta:
			deltas = append(deltas, block{said.Kind, said.BlockID, said.Delta})
		case tasks.OutputCompleted:
			var whole struct {
				Content []struct {
					Type string `json:"type"`
					ID   string `json:"block_id"`
					Text string `json:"text"`
				} `json:"content"`
			}
			if err := json.Unmarshal(e.Payload, &whole); err != nil {
				t.Fatal(err)
			}
			for _, one := range whole.Content {
				wholes = append(wholes, block{one.Type, one.ID, one.Text})
			}
		case tasks.UsageReported:
			used.Input, used.Cached, used.Output, used.Reasoning = said.Input, said.Cached, said.Output, said.Reasoning
		}
	}
	if want := []block{{"plan_delta", "p", "plan"}, {"thinking_delta", "r/content/1", "thought"}, {"thinking_delta", "r/summary/0", "summary"},
		{"text_delta", "m", "text"}}; !reflect.DeepEqual(deltas, want) {
		t.Errorf("the pieces are %v", deltas)
	}
	if want := []block{{"plan", "p", "plan"}, {"thinking", "r/summary/0", "summary"}, {"thinking", "r/content/0", "before"},
		{"thinking", "r/content/1", "thought"}, {"text", "m", "text"}}; !reflect.DeepEqual(wholes, want) {
		t.Errorf("the whole is %v", wholes)
	}
	if used.Input != 11 || used.Cached != 5 || used.Output != 3 || used.Reasoning != 2 {
		t.Errorf("used are %+v", used)
	}
}
