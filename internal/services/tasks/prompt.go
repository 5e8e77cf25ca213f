package tasks

import (
	"encoding/json"
	"strings"
)

// prompt returns a task's text for an agent: a single message as it is, several with their roles. Blocks other than
// text are JSON.
func prompt(messages []Message) string {
	var parts []string
	for _, m := range messages {
		said := make([]string, 0, len(m.Content))
		for _, block := range m.Content {
			said = append(said, textOf(block))
		}
		text := strings.Join(said, "\n")
		if len(messages) > 1 || m.Role != "user" {
			text = strings.ToUpper(m.Role) + ": " + text
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "\n\n")
}

// textOf returns a block as the agent reads it.
func textOf(block json.RawMessage) string {
	var text struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	if json.Unmarshal(block, &text) == nil && text.Type == "text" && text.Text != nil {
		return *text.Text
	}
	return string(block)
}
