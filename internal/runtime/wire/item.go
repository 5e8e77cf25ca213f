package wire

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unsafe"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
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
	ItemClientTool   = "dynamicToolCall" // of a tool of the client
	ItemCleared      = "conversationCleared"
)

// The statuses of items that have one.
const (
	StatusInProgress = "inProgress"
	StatusCompleted  = "completed"
	StatusFailed     = "failed"
	StatusDeclined   = "declined"
)

// ReadItem returns an item as text for a user, as in transcripts; false when raw is not an item. It skips members of
// an unexpected type.
func ReadItem(raw json.RawMessage) (runtime.Item, bool) {
	if len(raw) == 0 {
		return runtime.Item{}, false
	}
	item := runtime.Item{Role: "system"}
	var part itemParts
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
			part.text = at
		case "status":
			part.status = at
		case "server":
			part.server = at
		case "tool":
			part.tool = at
		case "content":
			part.content = at
		case "command":
			part.command = at
		case "changes":
			part.changes = at
		}
	})
	if item.ID == "" || item.Type == "" {
		return runtime.Item{}, false
	}
	switch item.Type {
	case ItemUserMessage:
		item.Role, item.Native = "user", raw
	case ItemAgentMessage:
		item.Role, item.Native = "assistant", raw
	case ItemCommand:
		item.Outlives = true // an interrupted turn leaves it running
	}
	item.Images = imagesOf(item, raw)
	long := len(raw) > runtime.LongItem
	switch {
	case item.Native != nil:
	case long:
		item.Long = raw
	default:
		item.Details = indented(raw)
	}
	if content := part.words(item.Type, raw); long && content.size() > runtime.LongItem {
		item.LongContent = content.strings()
	} else {
		item.Content = content.text()
	}
	return item, true
}

// itemParts are the places of the members with an item's text.
type itemParts struct{ text, status, server, tool, content, command, changes runtime.Span }

// words returns the text of an item of this type.
func (p *itemParts) words(kind string, raw json.RawMessage) words {
	word := func(at runtime.Span) json.RawMessage { return at.Of(raw) }
	switch kind {
	case ItemUserMessage:
		return userText(word(p.content))
	case ItemAgentMessage:
		return words{word(p.text)}
	case ItemCommand:
		return append(words{json.RawMessage(`"Command execution "`), word(p.status), json.RawMessage(`": "`)},
			commandText(word(p.command))...)
	case ItemFileChange:
		return words{json.RawMessage(`"File change "`), word(p.status),
			quoted(": " + counted(count(word(p.changes)), "change"))}
	case ItemToolCall:
		return words{json.RawMessage(`"Tool "`), word(p.server), json.RawMessage(`"/"`), word(p.tool), json.RawMessage(`" "`),
			word(p.status)}
	case ItemReasoning:
		return words{json.RawMessage(`"Reasoning update"`)}
	case ItemPlan:
		return words{json.RawMessage(`"Plan: "`), word(p.text)}
	case ItemCleared:
		return words{quoted("The conversation was cleared. The agent doesn't remember anything above.")}
	}
	return words{quoted("[" + kind + "]")}
}

// Refused reports whether a command was refused. Clients see it until then, and histories omit it.
func Refused(item json.RawMessage) bool {
	var kind struct{ Type, Status string }
	return json.Unmarshal(item, &kind) == nil && kind.Type == ItemCommand && kind.Status == StatusDeclined
}

func userText(content json.RawMessage) (said words) {
	for part := range Elements(content) {
		if said != nil {
			said = append(said, json.RawMessage(`"\n"`))
		}
		given := Members(part, "type", "text", "url", "path", "name")
		kind, text, url, path, name := Text(given[0]), given[1], Text(given[2]), Text(given[3]), Text(given[4])
		if kind != "text" {
			text = quoted(strings.TrimSpace("[" + kind + "] " + cmp.Or(withoutData(url), name, path)))
		}
		said = append(said, text)
	}
	return said
}

// withoutData returns a readable URL. Of a data URL it keeps only type and size, because the data may be a megabyte.
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

// indented returns JSON with 2 spaces of indentation in the native key order.
func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return string(raw)
	}
	return unsafe.String(unsafe.SliceData(out.Bytes()), out.Len()) // no copy: it must not change
}
