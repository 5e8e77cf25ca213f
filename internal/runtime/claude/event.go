package claude

import (
	"encoding/json"
	"strings"

	"harness/internal/runtime/wire"
)

// event is a line of Claude Code, with the members that this package uses.
type event struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	UUID      string          `json:"uuid"`
	Parent    *string         `json:"parent_tool_use_id"` // set: output of a sub-agent
	IsReplay  bool            `json:"isReplay"`
	APIError  bool            `json:"is_api_error_message"`
	Message   message         `json:"message"`
	Event     streamed        `json:"event"`
	RequestID string          `json:"request_id"`
	Request   control         `json:"request"`
	Response  answered        `json:"response"`
	State     string          `json:"state"`
	Command   string          `json:"command_uuid"`
	Users     []string        `json:"user_message_uuids"`
	User      string          `json:"user_message_uuid"`
	Session   string          `json:"session_id"`
	Status    string          `json:"status"`
	Title     string          `json:"title"`
	Cwd       string          `json:"cwd"`
	Model     string          `json:"model"`
	Tasks     []startedTask   `json:"tasks"`
	Task      string          `json:"task_id"`
	ToolUse   string          `json:"tool_use_id"`
	Error     json.RawMessage `json:"error"`

	ToolUseResult json.RawMessage `json:"tool_use_result"`
	ToolMeta      []struct {
		ID          string `json:"id"`
		NotExecuted string `json:"non_execution_kind"`
	} `json:"tool_result_meta"`

	IsError        bool     `json:"is_error"`
	TerminalReason string   `json:"terminal_reason"`
	APIStatus      int      `json:"api_error_status"`
	Result         string   `json:"result"`
	Errors         []string `json:"errors"`
	// Used is the usage by model since the last result, UsedInAll the usage of the whole conversation. Both include
	// sub-agents.
	Used      usage `json:"model_usage_since_last_result"`
	UsedInAll usage `json:"modelUsage"`

	Attempt     int `json:"attempt"`
	MaxRetries  int `json:"max_retries"`
	ErrorStatus int `json:"error_status"`
}

// knownIDs replaces the ids of calls by their stored ones (runtime.KnownID).
func (e *event) knownIDs() {
	for i := range e.Message.Content {
		p := &e.Message.Content[i]
		p.ID, p.Name, p.ToolUse = short(p.ID), short(p.Name), short(p.ToolUse)
	}
	for i := range e.ToolMeta {
		e.ToolMeta[i].ID = short(e.ToolMeta[i].ID)
	}
	e.ToolUse, e.Request.ToolUse = short(e.ToolUse), short(e.Request.ToolUse)
}

// usage is the usage of each model in tokens.
type usage map[string]struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheCreationInputTokens"`
	Thinking   int64 `json:"thinkingTokens"`
	Window     int64 `json:"contextWindow"`
}

// message is a message of a user or the model.
type message struct {
	ID      string `json:"id"`
	Content parts  `json:"content"`
}

// parts are the parts of a message; a text alone is one part.
type parts []part

type part struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use_id"`
	Content  parts           `json:"content"`
	IsError  bool            `json:"is_error"`
	Source   struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
		Data  string `json:"data"`
		URL   string `json:"url"`
	} `json:"source"`
}

// UnmarshalJSON implements json.Unmarshaler. A value that is neither a text nor a list of parts is empty.
func (p *parts) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*p = parts{{Type: "text", Text: text}}
		return nil
	}
	var list []part
	_ = json.Unmarshal(raw, &list) // parts of another shape show their known members
	*p = list
	return nil
}

// text returns the text of the parts, by lines.
func (p parts) text() string {
	lines := make([]string, 0, len(p))
	for _, one := range p {
		if one.Type == "text" {
			lines = append(lines, one.Text)
		} else {
			lines = append(lines, "["+one.Type+"]")
		}
	}
	return strings.Join(lines, "\n")
}

// shown returns the text of the parts with their images.
func (p parts) shown() (text string, images []wire.Picture) {
	var said parts
	for _, one := range p {
		if one.Type == "image" && one.Source.Data != "" {
			images = append(images, wire.NewPicture(one.Source.Media, one.Source.Data))
		} else {
			said = append(said, one)
		}
	}
	return said.text(), images
}

// streamed is a delta of the model's answer.
type streamed struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		ID string `json:"id"`
	} `json:"message"`
	Block part `json:"content_block"`
	Delta struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
	} `json:"delta"`
}

// control is a request of the agent on the control channel.
type control struct {
	Subtype string          `json:"subtype"`
	Tool    string          `json:"tool_name"`
	Input   json.RawMessage `json:"input"`
	ToolUse string          `json:"tool_use_id"`
	Reason  string          `json:"decision_reason"`
}

// hookInput is the input of a PreToolUse hook.
type hookInput struct {
	Tool  string          `json:"tool_name"`
	Input json.RawMessage `json:"tool_input"`
}

// answered is an answer on the control channel: the agent's, or a repetition of the server's.
type answered struct {
	Subtype   string          `json:"subtype"`
	RequestID string          `json:"request_id"`
	Response  json.RawMessage `json:"response"`
	Error     string          `json:"error"`
}

// toolInput are the displayed arguments of known tools.
type toolInput struct {
	Command   string `json:"command"`
	FilePath  string `json:"file_path"`
	Notebook  string `json:"notebook_path"`
	Content   string `json:"content"`
	Old       string `json:"old_string"`
	New       string `json:"new_string"`
	NewSource string `json:"new_source"`
	Host      string `json:"host"`
	Plan      string `json:"plan"`
	Subject   string `json:"subject"`
	TaskID    string `json:"taskId"`
	Status    string `json:"status"`
	Questions []struct {
		Question string `json:"question"`
		Header   string `json:"header"`
		Multiple bool   `json:"multiSelect"`
		Options  []struct {
			Label       string `json:"label"`
			Description string `json:"description"`
		} `json:"options"`
	} `json:"questions"`
	Todos []struct {
		Content string `json:"content"`
		Status  string `json:"status"`
	} `json:"todos"`
}

func readInput(raw json.RawMessage) (in toolInput) {
	_ = json.Unmarshal(raw, &in) // members of an unexpected type are skipped
	return in
}

// path returns the file of a tool use.
func (in toolInput) path() string {
	if in.Notebook != "" {
		return in.Notebook
	}
	return in.FilePath
}
