package mockmodel

import (
	"encoding/json"
	"strings"
	"time"
)

// Request is one request for a model answer by an agent.
type Request struct {
	At time.Time
	// UserText is the last text of a user in the conversation. It contains the script.
	UserText string
	// Outputs are all tool outputs in the conversation; Fresh is the number of those after UserText.
	Outputs []Output
	Fresh   int
	// Tools are the names of the offered tools.
	Tools []string
	Body  json.RawMessage

	customTools map[string]bool
	// aside means that the script does not apply to it, whole that it requests an answer without streaming.
	aside, whole bool
}

// Output is the output that codex returned to the model for one tool call.
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
			// Text that codex adds in the user's name (environment, aborted turns) is in a tag.
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

// fresh returns the outputs after the last user text.
func (r Request) fresh() []Output { return r.Outputs[len(r.Outputs)-r.Fresh:] }

func (r Request) offers(tool string) bool {
	for _, name := range r.Tools {
		if name == tool {
			return true
		}
	}
	return false
}

// contentText reads the forms of text in the API: a string, a list of parts with text, or an object with such a
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

// ofServer returns the offered name of an MCP server's tool. OpenCode prefixes the name of the server, possibly with
// additional letters.
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
