package events

import (
	"encoding/json"

	"harness/internal/runtime"
)

// PermissionRequest is a request for a permission in the form that cdev's clients show.
type PermissionRequest struct {
	ToolUseID   string          `json:"tool_use_id"`
	Type        string          `json:"type"`
	Target      string          `json:"target"`
	Description string          `json:"description"`
	Preview     string          `json:"preview"`
	ToolName    string          `json:"tool_name"`
	ToolInput   json.RawMessage `json:"tool_input"`
	Options     []Option        `json:"options"`
}

// Option is a choice with its key.
type Option struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

// Keys of the options of every permission.
const (
	KeyAllow        = "1"
	KeyAllowSession = "2"
	KeyDeny         = "n"
)

// PermissionOf converts a request.
func PermissionOf(id, summary string, asked runtime.Asked) PermissionRequest {
	p := PermissionRequest{ToolUseID: id, Type: "tool_use", Description: summary, ToolName: asked.Tool,
		ToolInput: asked.Arguments, Options: []Option{{KeyAllow, "Yes"}, {KeyAllowSession, "Yes, for this session"},
			{KeyDeny, "No"}}}
	var given struct {
		Command  json.RawMessage `json:"command"`
		Path     string          `json:"path"`
		FilePath string          `json:"file_path"`
		Changes  []struct {
			Path string `json:"path"`
			Kind struct {
				Type string `json:"type"`
			} `json:"kind"`
			Diff string `json:"diff"`
		} `json:"changes"`
	}
	_ = json.Unmarshal(asked.Arguments, &given) // other arguments are shown unchanged
	switch asked.Subject {
	case runtime.SubjectCommand:
		p.Type, p.Target = "bash_command", textOf(given.Command)
	case runtime.SubjectFileChange:
		p.Type = "edit_file"
		if len(given.Changes) > 0 {
			first := given.Changes[0]
			p.Target, p.Preview = first.Path, first.Diff
			if first.Kind.Type == "add" {
				p.Type = "write_file"
			}
		}
	case runtime.SubjectTool:
		p.Target = given.Path + given.FilePath
		if p.Target == "" {
			p.Target = asked.Tool
		}
	case runtime.SubjectForm:
		p.Type, p.Target = "mcp_tool", asked.Tool
	}
	if p.ToolInput == nil {
		p.ToolInput = json.RawMessage("{}")
	}
	if p.ToolName == "" {
		p.ToolName = p.Type
	}
	return p
}

// textOf returns a command given as a string or as a list of words.
func textOf(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	var words []string
	_ = json.Unmarshal(raw, &words) // none when it is neither
	for i, word := range words {
		if i > 0 {
			text += " "
		}
		text += word
	}
	return text
}
