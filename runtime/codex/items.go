package codex

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"

	"harness/runtime"
)

type wireItem struct {
	ID      string          `json:"id"`
	Type    string          `json:"type"`
	Status  string          `json:"status"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
	Command json.RawMessage `json:"command"`
	Server  string          `json:"server"`
	Tool    string          `json:"tool"`

	Changes       []json.RawMessage `json:"changes"`
	StartedAtMs   json.Number       `json:"startedAtMs"`
	CompletedAtMs json.Number       `json:"completedAtMs"`
}

// describe puts a native item into codex-manager's words; false when it is none.
func describe(raw json.RawMessage) (runtime.Item, bool) {
	var w wireItem
	// A member of an unexpected type is skipped; type and id decide whether this is an item.
	_ = json.Unmarshal(raw, &w)
	if w.ID == "" || w.Type == "" {
		return runtime.Item{}, false
	}
	item := runtime.Item{
		ID: w.ID, Type: w.Type, Role: "system", Details: indented(raw),
		StartedAt: millis(w.StartedAtMs), CompletedAt: millis(w.CompletedAtMs),
	}
	switch w.Type {
	case "userMessage":
		item.Role, item.Content, item.Details, item.Native = "user", userText(w.Content), "", raw
	case "agentMessage":
		item.Role, item.Content, item.Details, item.Native = "assistant", w.Text, "", raw
	case "commandExecution":
		item.Outlives = true // an interrupted turn leaves it running
		item.Content = "Command execution " + w.Status + ": " + commandText(w.Command)
	case "fileChange":
		item.Content = "File change " + w.Status + ": " + counted(len(w.Changes), "change")
	case "mcpToolCall":
		item.Content = "Tool " + w.Server + "/" + w.Tool + " " + w.Status
	case "reasoning":
		item.Content = "Reasoning update"
	case "plan":
		item.Content = "Plan: " + w.Text
	default:
		item.Content = "[" + w.Type + "]"
	}
	item.Content = clean(item.Content)
	return item, true
}

func userText(content json.RawMessage) string {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
		URL  string `json:"url"`
		Path string `json:"path"`
		Name string `json:"name"`
	}
	_ = json.Unmarshal(content, &parts)
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

// indented is JSON with 2 spaces in the native key order.
func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return string(raw)
	}
	return out.String()
}
