package agui

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/stream"
)

func line(t *testing.T, turn, method string, params object) *journal.Record {
	t.Helper()
	payload, err := json.Marshal(object{"method": method, "params": params})
	if err != nil {
		t.Fatal(err)
	}
	_, layout, ok := wire.LayoutOf(payload)
	if !ok {
		t.Fatalf("%s is no line", payload)
	}
	record := &journal.Record{Event: journal.Event{Type: stream.EventNotification, SessionID: "S", TurnID: turn, Payload: payload}}
	stream.SetMeta(&record.Event, &stream.Meta{Layout: &layout})
	return record
}

func items(t *testing.T, method string, item object) *journal.Record {
	t.Helper()
	return line(t, "T", method, object{"item": item})
}

// AG-01: what is open when a turn ends is ended before the run, a text without deltas comes whole, and what belongs to
// no run has no event.
func TestEventsOfARun(t *testing.T) {
	t.Parallel()
	runs := translator{session: "S"}
	var got []string
	for _, record := range []*journal.Record{
		items(t, wire.MethodItemCompleted, object{"id": "0", "type": wire.ItemAgentMessage, "text": "before"}),
		line(t, "T", wire.MethodTurnStarted, object{"turn": object{"id": "T"}}),
		items(t, wire.MethodItemCompleted, object{"id": "u", "type": wire.ItemUserMessage,
			"content": []object{{"type": "text", "text": "go"}}}),
		items(t, wire.MethodItemCompleted, object{"id": "r", "type": wire.ItemReasoning, "summary": []string{"so", "thus"}}),
		items(t, wire.MethodItemCompleted, object{"id": "q", "type": wire.ItemReasoning}),
		items(t, wire.MethodItemCompleted, object{"id": "a", "type": wire.ItemAgentMessage, "text": "whole"}),
		line(t, "other", wire.MethodMessageDelta, object{"itemId": "x", "delta": "another turn's"}),
		items(t, wire.MethodItemStarted, object{"id": "c", "type": wire.ItemToolCall, "server": "s", "tool": "t", "arguments": object{"x": 1}}),
		items(t, wire.MethodItemCompleted, object{"id": "c", "type": wire.ItemToolCall, "server": "s", "tool": "t", "status": "failed",
			"result": nil, "error": object{"message": "no"}}),
		items(t, wire.MethodItemCompleted, object{"id": "d", "type": wire.ItemCommand, "command": "ls", "status": "declined"}),
		items(t, wire.MethodItemCompleted, object{"id": "w", "type": "webSearch", "query": "go", "status": "completed"}),
		line(t, "T", wire.MethodTurnPlan, object{"plan": []string{"p"}}),
		items(t, wire.MethodItemStarted, object{"id": "b", "type": wire.ItemAgentMessage, "text": ""}),
		line(t, "T", wire.MethodMessageDelta, object{"itemId": "b", "delta": "cut"}),
		line(t, "T", wire.MethodReasoningDelta, object{"itemId": "e", "delta": "hm"}),
		line(t, "T", wire.MethodTurnCompleted, object{"turn": object{"id": "T", "status": "interrupted"}}),
		line(t, "T", wire.MethodMessageDelta, object{"itemId": "b", "delta": "late"}),
	} {
		for _, one := range runs.translate(record, false) {
			got = append(got, strings.TrimPrefix(string(one.encode()), `{"type":`))
		}
	}
	want := []string{
		`"RUN_STARTED","runId":"T","threadId":"S"}`,
		`"STATE_SNAPSHOT","snapshot":{"plan":null,"usage":null,"waiting":[]}}`,
		`"TEXT_MESSAGE_START","messageId":"u","role":"user"}`, `"TEXT_MESSAGE_CONTENT","delta":"go","messageId":"u"}`,
		`"TEXT_MESSAGE_END","messageId":"u"}`,
		`"REASONING_START","messageId":"r"}`, `"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"}`,
		`"REASONING_MESSAGE_CONTENT","delta":"so\n\nthus","messageId":"r"}`, `"REASONING_MESSAGE_END","messageId":"r"}`,
		`"REASONING_END","messageId":"r"}`, `"REASONING_START","messageId":"q"}`, `"REASONING_END","messageId":"q"}`,
		`"TEXT_MESSAGE_START","messageId":"a","role":"assistant"}`, `"TEXT_MESSAGE_CONTENT","delta":"whole","messageId":"a"}`,
		`"TEXT_MESSAGE_END","messageId":"a"}`,
		`"TOOL_CALL_START","toolCallId":"c","toolCallName":"s/t"}`, `"TOOL_CALL_ARGS","delta":"{\"x\":1}","toolCallId":"c"}`,
		`"TOOL_CALL_END","toolCallId":"c"}`,
		`"TOOL_CALL_RESULT","content":"{\"message\":\"no\"}","messageId":"c-result","role":"tool","toolCallId":"c"}`,
		`"TOOL_CALL_START","toolCallId":"d","toolCallName":"commandExecution"}`,
		`"TOOL_CALL_ARGS","delta":"{\"command\":\"ls\"}","toolCallId":"d"}`, `"TOOL_CALL_END","toolCallId":"d"}`,
		`"TOOL_CALL_RESULT","content":"declined","messageId":"d-result","role":"tool","toolCallId":"d"}`,
		`"TOOL_CALL_START","toolCallId":"w","toolCallName":"webSearch"}`,
		`"TOOL_CALL_ARGS","delta":"{\"query\":\"go\"}","toolCallId":"w"}`, `"TOOL_CALL_END","toolCallId":"w"}`,
		`"TOOL_CALL_RESULT","content":"completed","messageId":"w-result","role":"tool","toolCallId":"w"}`,
		`"STATE_DELTA","delta":[{"op":"add","path":"/plan","value":["p"]}]}`,
		`"TEXT_MESSAGE_START","messageId":"b","role":"assistant"}`, `"TEXT_MESSAGE_CONTENT","delta":"cut","messageId":"b"}`,
		`"REASONING_START","messageId":"e"}`, `"REASONING_MESSAGE_START","messageId":"e","role":"reasoning"}`,
		`"REASONING_MESSAGE_CONTENT","delta":"hm","messageId":"e"}`,
		`"TEXT_MESSAGE_END","messageId":"b"}`, `"REASONING_MESSAGE_END","messageId":"e"}`, `"REASONING_END","messageId":"e"}`,
		`"RUN_FINISHED","result":{"interrupted":true},"runId":"T","threadId":"S"}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("the events are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
