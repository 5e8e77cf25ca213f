package acp

import (
	"encoding/json"
	"strconv"
)

// turnPrefix is the prefix of the id of session/prompt. The answer to that id ends exactly the named turn, for any
// reader.
const turnPrefix = "turn:"

// line is a JSON-RPC line of either side.
type line struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *refusal        `json:"error,omitempty"`
}

// refusal is an error answer of an agent.
type refusal struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// turn returns the turn in a line's id, "" for any other id.
func (l *line) turn() string {
	var id string
	if len(l.ID) < len(turnPrefix)+2 || l.ID[0] != '"' || json.Unmarshal(l.ID, &id) != nil || len(id) <= len(turnPrefix) ||
		id[:len(turnPrefix)] != turnPrefix {
		return ""
	}
	return id[len(turnPrefix):]
}

// number returns the decimal id of the request that a line answers, "" when this server did not send it.
func (l *line) number() string {
	if l.Method != "" || len(l.ID) == 0 || l.ID[0] < '0' || l.ID[0] > '9' {
		return ""
	}
	return string(l.ID)
}

// written returns a complete line to send.
func written(value any) ([]byte, error) {
	raw, err := json.Marshal(value)
	return append(raw, '\n'), err
}

type message struct {
	Version string `json:"jsonrpc"`
	ID      any    `json:"id,omitempty"`
	Method  string `json:"method,omitempty"`
	Params  any    `json:"params,omitempty"`
	Result  any    `json:"result,omitempty"`
	Error   any    `json:"error,omitempty"`
}

func jsonInt(n int) string { return strconv.Itoa(n) }

// update is the content of session/update, and the tool call of session/request_permission. The decoder skips members
// of an unexpected type.
type update struct {
	Kind       string          `json:"sessionUpdate"`
	MessageID  string          `json:"messageId"`
	Title      string          `json:"title"`
	Content    json.RawMessage `json:"content"` // a block of a text, a list for a tool call
	ToolCallID string          `json:"toolCallId"`
	Name       string          `json:"name"`
	ToolKind   string          `json:"kind"`
	Status     string          `json:"status"`
	RawInput   json.RawMessage `json:"rawInput"`
	RawOutput  json.RawMessage `json:"rawOutput"`
	Locations  []struct {
		Path string `json:"path"`
	} `json:"locations"`
	Entries []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"entries"`
	Size int64 `json:"size"`
	Meta meta  `json:"_meta"`
}

// meta are additional members of some agents.
type meta struct {
	Claude struct {
		Tool        string `json:"toolName"`
		NotExecuted string `json:"nonExecutionKind"`
	} `json:"claudeCode"`
	Codex struct {
		Error *struct {
			Message   string          `json:"message"`
			Kind      json.RawMessage `json:"codexErrorInfo"`
			Details   *string         `json:"additionalDetails"`
			WillRetry bool            `json:"willRetry"`
		} `json:"error"`
	} `json:"codex"`
	Terminal struct {
		Data string `json:"data"`
	} `json:"terminal_output_delta"`
	Exit struct {
		Code *int `json:"exit_code"`
	} `json:"terminal_exit"`
	MCP bool `json:"is_mcp_tool_call"`
}

// block is a block of content.
type block struct {
	Type string `json:"type"`
	Text string `json:"text"`
	URI  string `json:"uri"`
	Name string `json:"name"`
	// Mime and Data belong to an image.
	Mime string `json:"mimeType"`
	Data string `json:"data"`
}

// shown returns a block as text.
func (b block) shown() string {
	switch {
	case b.Type == "text":
		return b.Text
	case b.Type == "":
		return ""
	case b.URI != "":
		return "[" + b.Type + "] " + b.URI
	}
	return "[" + b.Type + "]"
}
