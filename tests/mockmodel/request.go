package mockmodel

import (
	"encoding/json"
	"strings"
	"time"
)

// Request is one request codex made for a model answer.
type Request struct {
	At time.Time
	// UserText is the last text a person wrote in the conversation, the one that carries the script.
	UserText string
	// Outputs are all tool outputs in the conversation; Fresh counts those after UserText.
	Outputs []Output
	Fresh   int
	// Tools are the names of the tools offered.
	Tools []string
	Body  json.RawMessage

	customTools map[string]bool
	// aside says that the script is not for it, whole that it asks for an answer in one piece.
	aside, whole bool
}

// Output is what codex returned to the model for one tool call.
type Output struct {
	CallID string
	Text   string
}

type wireItem struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	CallID  string          `json:"call_id"`
	Output  json.RawMessage `json:"output"`
}

func parseRequest(body []byte, at time.Time) (Request, error) {
	var wire struct {
		Input []wireItem `json:"input"`
		Tools []struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, err
	}
	r := Request{At: at, Body: body, customTools: map[string]bool{}}
	for _, item := range wire.Input {
		switch item.Type {
		case "", "message":
			// What codex adds itself in the user's name (environment, aborted turns) is wrapped in a tag.
			if text := contentText(item.Content); item.Role == "user" && !strings.HasPrefix(strings.TrimSpace(text), "<") {
				r.UserText, r.Fresh = text, 0
			}
		case "function_call_output", "custom_tool_call_output":
			r.Outputs = append(r.Outputs, Output{CallID: item.CallID, Text: contentText(item.Output)})
			r.Fresh++
		}
	}
	for _, tool := range wire.Tools {
		name := tool.Name
		if name == "" {
			name = tool.Type
		}
		r.Tools = append(r.Tools, name)
		r.customTools[name] = tool.Type == "custom"
	}
	return r, nil
}

// fresh are the outputs after the last user text.
func (r Request) fresh() []Output { return r.Outputs[len(r.Outputs)-r.Fresh:] }

func (r Request) offers(tool string) bool {
	for _, name := range r.Tools {
		if name == tool {
			return true
		}
	}
	return false
}

// contentText reads what the API allows as text: a string, a list of parts with text, or an object with such a
// "content".
func contentText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) == nil {
		texts := make([]string, 0, len(parts))
		for _, p := range parts {
			texts = append(texts, p.Text)
		}
		return strings.Join(texts, "\n")
	}
	var object struct {
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &object) == nil && len(object.Content) > 0 {
		return contentText(object.Content)
	}
	return string(raw)
}

// ofServer is the name an MCP server's tool is offered by. OpenCode's has the name of the server before it, which may go
// on in letters of its own.
func (r Request) ofServer(server, tool string) string {
	name := "mcp__" + server + "__" + tool
	if r.offers(name) {
		return name
	}
	for _, offered := range r.Tools {
		if strings.HasPrefix(offered, server+"_") && strings.HasSuffix(offered, "_"+tool) {
			return offered
		}
	}
	return name
}
