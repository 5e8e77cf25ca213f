package tasks

import (
	"encoding/json"
	"strings"

	"harness/internal/runtime/wire"
)

// textItem is growing text of the agent: a message or reasoning.
type textItem struct {
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Summary []string `json:"summary"`
	Content []string `json:"content"`
}

// block is a part of a model's output.
type block struct {
	Type    string `json:"type"`
	BlockID string `json:"block_id"`
	Text    string `json:"text"`
}

// onItem handles the start or the end of an item.
func (l *Log) onItem(params json.RawMessage, done bool) {
	raw := wire.Members(params, "item")[0]
	kind := wire.Text(wire.Members(raw, "type")[0])
	switch kind {
	case wire.ItemUserMessage:
		if t := l.state.Task; t.Foreign && !t.Announced {
			l.start(encode([]json.RawMessage{encode(struct {
				Role    string          `json:"role"`
				Content json.RawMessage `json:"content"`
			}{"user", orEmpty(wire.Members(raw, "content")[0])})}), nil)
		}
		return
	case wire.ItemAgentMessage, wire.ItemPlan, wire.ItemReasoning:
		if done {
			l.onText(kind, raw)
		}
		return
	}
	if wire.IsTool(kind) {
		l.onToolItem(kind, raw, done)
	}
}

func orEmpty(list json.RawMessage) json.RawMessage {
	if len(list) == 0 || list[0] != '[' {
		return json.RawMessage("[]")
	}
	return list
}

// onText handles the complete text of a message or of reasoning.
func (l *Log) onText(kind string, raw json.RawMessage) {
	var item textItem
	if json.Unmarshal(raw, &item) != nil {
		return
	}
	blocks := []block{}
	switch kind {
	case wire.ItemAgentMessage:
		blocks = append(blocks, block{"text", item.ID, item.Text})
	case wire.ItemPlan:
		blocks = append(blocks, block{"plan", item.ID, item.Text})
	default:
		for i, text := range item.Summary {
			blocks = append(blocks, block{"thinking", blockID(item.ID, "summary", itoa(i)), text})
		}
		for i, text := range item.Content {
			blocks = append(blocks, block{"thinking", blockID(item.ID, "content", itoa(i)), text})
		}
	}
	if len(blocks) == 0 {
		return
	}
	l.ensureStarted()
	l.emit(OutputCompleted, struct {
		Content []block `json:"content"`
	}{blocks})
}

func blockID(item, part, index string) string { return item + "/" + part + "/" + index }

// onDelta adds a text delta.
func (l *Log) onDelta(method string, params json.RawMessage) {
	given := wire.Members(params, "itemId", "delta", "contentIndex", "summaryIndex")
	item, delta := wire.Text(given[0]), wire.Text(given[1])
	if item == "" || delta == "" {
		return
	}
	var kind string
	id := item
	switch method {
	case wire.MethodMessageDelta:
		kind = "text_delta"
	case wire.MethodPlanDelta:
		kind = "plan_delta"
	case wire.MethodReasoningDelta:
		kind, id = "thinking_delta", blockID(item, "content", number(given[2]))
	case wire.MethodSummaryDelta:
		kind, id = "thinking_delta", blockID(item, "summary", number(given[3]))
	case wire.MethodCommandOutput, wire.MethodFileChangeOutput:
		l.onToolOutput(item, delta)
		return
	default:
		return
	}
	l.ensureStarted()
	l.emit(OutputDelta, struct {
		Kind    string `json:"kind"`
		BlockID string `json:"block_id"`
		Delta   string `json:"delta"`
	}{kind, id, delta})
}

func number(raw json.RawMessage) string {
	if text := strings.TrimSpace(string(raw)); text != "" && text != "null" {
		return text
	}
	return "0"
}

// ensureStarted emits a task's start before its other events.
func (l *Log) ensureStarted() {
	if t := l.state.Task; t != nil && !t.Announced {
		l.start(nil, nil)
	}
}

// timings are durations in ms.
type timings struct {
	// Duration is the time since the task began, or since the last report.
	Duration int64 `json:"duration_ms"`
}

// onUsage handles the usage of the last model request.
func (l *Log) onUsage(params json.RawMessage) {
	raw := wire.Members(params, "tokenUsage")[0]
	last := wire.Members(raw, "last")[0]
	var used struct {
		Input     int64 `json:"inputTokens"`
		Cached    int64 `json:"cachedInputTokens"`
		Output    int64 `json:"outputTokens"`
		Reasoning int64 `json:"reasoningOutputTokens"`
	}
	if len(last) == 0 || json.Unmarshal(last, &used) != nil {
		return
	}
	l.ensureStarted()
	l.state.Facts.replace(&Facts{Model: wire.Text(wire.Members(params, "model")[0])})
	since := max(l.at-l.state.Used, 0)
	l.state.Used = l.at
	l.emit(UsageReported, struct {
		Input     int64           `json:"input_tokens"`
		Cached    int64           `json:"cached_input_tokens"`
		Output    int64           `json:"output_tokens"`
		Reasoning int64           `json:"reasoning_tokens"`
		Timings   timings         `json:"timings"`
		Raw       json.RawMessage `json:"raw"`
	}{used.Input, used.Cached, used.Output, used.Reasoning, timings{since}, raw})
}
