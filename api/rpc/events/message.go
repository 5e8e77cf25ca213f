package events

import (
	"encoding/json"

	"harness/internal/runtime/wire"
	"harness/transcript"
)

// ChatMessage is one message in the form that cdev's clients show: text of a person or the agent, a thought, a tool
// call or its result.
type ChatMessage struct {
	Type    string `json:"type"`
	Role    string `json:"role"`
	Content []Part `json:"content"`
}

// Part is a part of a ChatMessage. Its type selects the members in use: text, thinking, tool_use or tool_result.
type Part struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text,omitempty"`
	ToolName  string          `json:"tool_name,omitempty"`
	ToolID    string          `json:"tool_id,omitempty"`
	ToolInput json.RawMessage `json:"tool_input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Content   *string         `json:"content,omitempty"`
	IsError   *bool           `json:"is_error,omitempty"`
}

func said(role, text string) ChatMessage {
	return ChatMessage{Type: role, Role: role, Content: []Part{{Type: "text", Text: &text}}}
}

// used returns a tool call and its result.
func used(id, name string, input json.RawMessage, result string, failed bool) []ChatMessage {
	if len(input) == 0 || string(input) == "null" {
		input = json.RawMessage("{}")
	}
	return []ChatMessage{
		{Type: "assistant", Role: "assistant",
			Content: []Part{{Type: "tool_use", ToolName: name, ToolID: id, ToolInput: input}}},
		{Type: "user", Role: "user",
			Content: []Part{{Type: "tool_result", ToolUseID: id, Content: &result, IsError: &failed}}},
	}
}

// Messages returns the messages of a runtime's item. An item that is neither text nor an action has none.
func Messages(raw json.RawMessage) []ChatMessage {
	item, ok := wire.ReadItem(raw)
	if !ok {
		return nil
	}
	switch item.Type {
	case wire.ItemUserMessage:
		return []ChatMessage{said("user", item.Content)}
	case wire.ItemAgentMessage:
		return []ChatMessage{said("assistant", item.Content)}
	}
	return worked(item.ID, item.Type, item.Content, raw)
}

// worked returns the messages of an item that is neither user text nor agent text.
func worked(id, kind, content string, raw json.RawMessage) []ChatMessage {
	var about struct {
		Command json.RawMessage `json:"command"`
		Output  *string         `json:"aggregatedOutput"`
		Changes json.RawMessage `json:"changes"`
		Status  string          `json:"status"`
		Tool    string          `json:"tool"`
		Input   json.RawMessage `json:"arguments"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
		Summary []string        `json:"summary"`
		Content []string        `json:"content"`
	}
	_ = json.Unmarshal(raw, &about) // members of an unexpected type are omitted
	failed := about.Status == wire.StatusFailed || about.Status == wire.StatusDeclined
	switch kind {
	case wire.ItemReasoning:
		text := ""
		for _, delta := range append(about.Summary, about.Content...) {
			text += delta
		}
		if text == "" {
			return nil
		}
		return []ChatMessage{{Type: "assistant", Role: "assistant", Content: []Part{{Type: "thinking", Text: &text}}}}
	case wire.ItemCommand:
		input, _ := json.Marshal(map[string]string{"command": textOf(about.Command)}) // a string always encodes
		result := content
		if about.Output != nil {
			result = *about.Output
		}
		return used(id, "Bash", input, result, failed)
	case wire.ItemFileChange:
		return used(id, "Edit", object("changes", about.Changes), content, failed)
	case wire.ItemToolCall:
		result := string(about.Result)
		if result == "" || result == "null" {
			result = string(about.Error)
		}
		return used(id, about.Tool, about.Input, result, failed)
	}
	return []ChatMessage{said("assistant", content)}
}

func object(name string, value json.RawMessage) json.RawMessage {
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	out, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return json.RawMessage("{}") // it was read from JSON
	}
	return out
}

// Stored returns a transcript entry as one message, so that pages of entries are pages of messages. The message
// contains a tool call and its result side by side. An entry without content has no parts.
func Stored(entry transcript.Entry) ChatMessage {
	entry = entry.Whole()
	if entry.Role != "system" {
		return said(entry.Role, entry.Content)
	}
	message := ChatMessage{Type: "assistant", Role: "assistant", Content: []Part{}}
	for _, one := range workedAt(entry) {
		message.Content = append(message.Content, one.Content...)
	}
	return message
}

func workedAt(entry transcript.Entry) []ChatMessage {
	var raw json.RawMessage
	if entry.Details != nil && json.Valid([]byte(*entry.Details)) {
		raw = json.RawMessage(*entry.Details)
	}
	return worked(entry.MessageID, entry.Type, entry.Content, raw)
}
