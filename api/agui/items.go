package agui

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"harness/internal/runtime/wire"
)

// find returns an open item, and opens it unless it is open.
func (t *translator) find(id, kind string) *openItem {
	if at := slices.IndexFunc(t.open, func(one *openItem) bool { return one.id == id }); at >= 0 {
		return t.open[at]
	}
	item := &openItem{id: id, kind: kind}
	t.open = append(t.open, item)
	switch kind {
	case wire.ItemAgentMessage:
		t.add(textStart, object{"messageId": id, "role": roleAssistant})
	case wire.ItemReasoning:
		t.add(reasoningStart, object{"messageId": id})
	}
	return item
}

// grow adds a delta to the text of an item.
func (t *translator) grow(kind string, params json.RawMessage) {
	of := wire.Members(params, "itemId", "delta")
	t.say(wire.Text(of[0]), kind, wire.Text(of[1]))
}

// say adds to the text of a message or of reasoning.
func (t *translator) say(id, kind, text string) {
	if text == "" || id == "" {
		return
	}
	item, content := t.find(id, kind), textContent
	if kind == wire.ItemReasoning {
		if content = thoughtContent; !item.said {
			t.add(thoughtStart, object{"messageId": id, "role": kind})
		}
	}
	item.said = true
	t.add(content, object{"messageId": id, "delta": text})
}

// close ends an item.
func (t *translator) close(item *openItem) {
	t.open = slices.DeleteFunc(t.open, func(one *openItem) bool { return one == item })
	switch {
	case item.kind == wire.ItemAgentMessage:
		t.add(textEnd, object{"messageId": item.id})
	case item.kind == wire.ItemReasoning && item.said:
		t.add(thoughtEnd, object{"messageId": item.id})
		fallthrough
	case item.kind == wire.ItemReasoning:
		t.add(reasoningEnd, object{"messageId": item.id})
	}
}

func (t *translator) started(params json.RawMessage) {
	raw := wire.Members(params, "item")[0]
	item, ok := wire.ReadItem(raw)
	switch {
	case !ok:
	case item.Type == wire.ItemAgentMessage, item.Type == wire.ItemReasoning:
		t.find(item.ID, item.Type)
	case wire.IsTool(item.Type):
		t.call(item.Type, raw)
	}
}

func (t *translator) completed(params json.RawMessage) {
	raw := wire.Members(params, "item")[0]
	item, ok := wire.ReadItem(raw)
	switch {
	case !ok:
	case item.Type == wire.ItemUserMessage:
		t.user(item.ID, item.Content)
	case item.Type == wire.ItemAgentMessage, item.Type == wire.ItemReasoning:
		one := t.find(item.ID, item.Type)
		if !one.said {
			t.say(item.ID, item.Type, textOf(item.Type, raw))
		}
		t.close(one)
	case wire.IsTool(item.Type):
		call := t.call(item.Type, raw)
		t.close(t.find(item.ID, item.Type))
		t.add("TOOL_CALL_RESULT", object{"messageId": item.ID + "-result", "toolCallId": item.ID, "role": "tool",
			"content": resultOf(call)})
	}
}

// user adds a message of a person. The first one of a turn began it.
func (t *translator) user(id, content string) {
	first := len(t.events)
	t.add(textStart, object{"messageId": id, "role": roleUser})
	if content != "" {
		t.add(textContent, object{"messageId": id, "delta": content})
	}
	t.add(textEnd, object{"messageId": id})
	for i := first; i < len(t.events); i++ {
		t.events[i].begun = !t.begun
	}
	t.begun = true
}

// textOf returns the text of a completed message or of reasoning.
func textOf(kind string, raw json.RawMessage) string {
	of := wire.Members(raw, "text", "summary", "content")
	if kind == wire.ItemAgentMessage {
		return wire.Text(of[0])
	}
	var texts []string
	for _, list := range of[1:] {
		for one := range wire.Elements(list) {
			if text := wire.Text(one); text != "" {
				texts = append(texts, text)
			}
		}
	}
	return strings.Join(texts, "\n\n")
}

// call adds the call of a tool, unless it is known, and returns it.
func (t *translator) call(kind string, raw json.RawMessage) wire.Call {
	call := wire.ReadCall(kind, raw)
	if slices.ContainsFunc(t.open, func(one *openItem) bool { return one.id == call.ID }) {
		return call
	}
	t.find(call.ID, kind)
	name := kind
	switch tool := wire.Text(wire.Members(raw, "tool")[0]); kind {
	case wire.ItemToolCall:
		name = call.Server + "/" + tool
	case wire.ItemClientTool:
		name = tool
	}
	t.add("TOOL_CALL_START", object{"toolCallId": call.ID, "toolCallName": name})
	t.add("TOOL_CALL_ARGS", object{"toolCallId": call.ID, "delta": string(call.Input)})
	t.add("TOOL_CALL_END", object{"toolCallId": call.ID})
	return call
}

// resultOf returns what a tool returned, or how it ended.
func resultOf(call wire.Call) string {
	return cmp.Or(wire.Text(call.Said), string(call.Result), call.Status)
}
