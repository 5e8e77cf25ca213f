package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unsafe"

	"harness/runtime"
	"harness/runtime/jsonobject"
)

// Types of items.
const (
	ItemUserMessage  = "userMessage"
	ItemAgentMessage = "agentMessage"
	ItemReasoning    = "reasoning"
	ItemPlan         = "plan"
	ItemCommand      = "commandExecution"
	ItemFileChange   = "fileChange"
	ItemToolCall     = "mcpToolCall"
)

// The statuses of items that have one.
const (
	StatusInProgress = "inProgress"
	StatusCompleted  = "completed"
	StatusFailed     = "failed"
	StatusDeclined   = "declined"
)

// ReadItem puts an item into words for a person, as transcripts have them; false when it is none. Members of another type than expected are
// skipped.
func ReadItem(raw json.RawMessage) (runtime.Item, bool) {
	if len(raw) == 0 {
		return runtime.Item{}, false
	}
	item := runtime.Item{Role: "system"}
	var text, status, server, tool, content, command, changes runtime.Span
	jsonobject.Each(raw, 0, func(name []byte, start, end int) {
		at := runtime.Span{start, end}
		switch string(name) {
		case "id":
			item.ID = runtime.KnownID(Text(raw[start:end]))
		case "type":
			item.Type = Text(raw[start:end])
		case "startedAtMs":
			item.StartedAt = Millis(raw[start:end])
		case "completedAtMs":
			item.CompletedAt = Millis(raw[start:end])
		case "text":
			text = at
		case "status":
			status = at
		case "server":
			server = at
		case "tool":
			tool = at
		case "content":
			content = at
		case "command":
			command = at
		case "changes":
			changes = at
		}
	})
	if item.ID == "" || item.Type == "" {
		return runtime.Item{}, false
	}
	word := func(at runtime.Span) string { return Text(at.Of(raw)) }
	switch item.Type {
	case ItemUserMessage:
		item.Role, item.Content, item.Native = "user", userText(content.Of(raw)), raw
	case ItemAgentMessage:
		item.Role, item.Content, item.Native = "assistant", word(text), raw
	case ItemCommand:
		item.Outlives = true // an interrupted turn leaves it running
		item.Content = "Command execution " + word(status) + ": " + commandText(command.Of(raw))
	case ItemFileChange:
		var listed []json.RawMessage
		_ = json.Unmarshal(changes.Of(raw), &listed) // none when there are none
		item.Content = "File change " + word(status) + ": " + counted(len(listed), "change")
	case ItemToolCall:
		item.Content = "Tool " + word(server) + "/" + word(tool) + " " + word(status)
	case ItemReasoning:
		item.Content = "Reasoning update"
	case ItemPlan:
		item.Content = "Plan: " + word(text)
	default:
		item.Content = "[" + item.Type + "]"
	}
	switch {
	case item.Native != nil:
	case len(raw) > runtime.LongItem:
		item.Long = raw
	default:
		item.Details = indented(raw)
	}
	item.Content = Clean(item.Content)
	return item, true
}

// Refused tells a command that was not run: it is told of while it is refused, and left out of histories.
func Refused(item json.RawMessage) bool {
	var kind struct{ Type, Status string }
	return json.Unmarshal(item, &kind) == nil && kind.Type == ItemCommand && kind.Status == StatusDeclined
}

func userText(content json.RawMessage) string {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		URL  string `json:"url"`
		Path string `json:"path"`
		Name string `json:"name"`
	}
	_ = json.Unmarshal(content, &parts) // a part of another shape shows as far as it is known
	lines := make([]string, 0, len(parts))
	for _, p := range parts {
		switch p.Type {
		case "text":
			lines = append(lines, p.Text)
		default:
			lines = append(lines, strings.TrimSpace("["+p.Type+"] "+firstOf(withoutData(p.URL), p.Name, p.Path)))
		}
	}
	return strings.Join(lines, "\n")
}

// withoutData is a URL for people to read: of a data URL its type and how long (bytes) it is, since the data is nothing to read and may be a
// megabyte.
func withoutData(url string) string {
	head, data, found := strings.Cut(url, ",")
	if !found || !strings.HasPrefix(url, "data:") {
		return url
	}
	size := len(data)
	if strings.HasSuffix(head, ";base64") {
		size = base64.StdEncoding.DecodedLen(size) - strings.Count(data[max(0, size-2):], "=")
	}
	return head + ", " + counted(size, "byte")
}

func firstOf(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// indented is JSON with 2 spaces in the native key order.
func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return string(raw)
	}
	return unsafe.String(unsafe.SliceData(out.Bytes()), out.Len()) // no copy: nobody changes it
}
