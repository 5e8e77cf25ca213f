package wire

import (
	"encoding/json"
	"testing"
)

func TestItemSummaries(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		`{"type":"userMessage","id":"1","content":[{"type":"text","text":"a"},{"type":"image","url":"http://x"},` +
			`{"type":"localImage","path":"/p"}]}`: {
			"user", "a\n[image] http://x\n[localImage] /p"},
		`{"type":"commandExecution","id":"1","status":"failed","command":"/bin/bash -lc 'x'"}`: {
			"system", "Command execution failed: /bin/bash -lc 'x'"},
		`{"type":"fileChange","id":"1","status":"completed","changes":[{}]}`: {
			"system", "File change completed: 1 change"},
		`{"type":"fileChange","id":"1","status":"declined","changes":[{},{}]}`: {
			"system", "File change declined: 2 changes"},
		`{"type":"mcpToolCall","id":"1","server":"s","tool":"t","status":"completed"}`: {
			"system", "Tool s/t completed"},
		`{"type":"reasoning","id":"1","summary":["x"]}`: {
			"system", "Reasoning update"},
		`{"type":"plan","id":"1","text":"do it"}`: {
			"system", "Plan: do it"},
		`{"type":"contextCompaction","id":"1"}`: {
			"system", "[contextCompaction]"},
		`{"type":"agentMessage","id":"1","text":"hi"}`: {
			"assistant", "hi"},
	} {
		item, ok := ReadItem(json.RawMessage(raw))
		if !ok || [2]string{item.Role, item.Content} != want {
			t.Errorf("%s: %v %q %q", raw, ok, item.Role, item.Content)
		}
		if wantDetails := item.Role == "system"; (item.Details != "") != wantDetails {
			t.Errorf("%s: details %q", raw, item.Details)
		}
	}
	item, _ := ReadItem(json.RawMessage(`{"type":"x","id":"1","b":[],"a":{"c":null}}`))
	if item.Details != "{\n  \"type\": \"x\",\n  \"id\": \"1\",\n  \"b\": [],\n  \"a\": {\n    \"c\": null\n  }\n}" {
		t.Errorf("details are %s", item.Details)
	}
}
