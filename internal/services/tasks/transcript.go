package tasks

import "encoding/json"

// Said is a message of a session's transcript: user, assistant or tool said it.
type Said struct {
	Role string `json:"role"`
	// Seq is the number of the event it is derived from, TaskID its task.
	Seq    int64  `json:"seq"`
	TaskID string `json:"task_id"`
	// Content are blocks: those of the user as they were given, those of the model as it completed them, ToolUse and
	// ToolResult.
	Content []json.RawMessage `json:"content"`
}

// ToolUse is the block of the assistant that an agent wants to call a tool.
type ToolUse struct {
	Type    string          `json:"type"` // tool_use
	CallID  string          `json:"tool_call_id"`
	Attempt int             `json:"attempt"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
}

// ToolResult is the block of the tool that such a call came to. One that was denied is an error, which gives the reason.
type ToolResult struct {
	Type    string `json:"type"` // tool_result
	CallID  string `json:"tool_call_id"`
	Attempt int    `json:"attempt"`
	IsError bool   `json:"is_error"`
	// Preview is the result as far as events contain it, Ref the artifact that has the rest.
	Preview json.RawMessage `json:"result_preview,omitempty"`
	Ref     json.RawMessage `json:"result_ref,omitempty"`
	// Reason is why it was denied.
	Reason string `json:"reason,omitempty"`
}

// Transcript is the conversation of a session, derived from its events: the user's messages when a task was
// started, the model's when an output was complete, and each attempt of a tool call with its result. The same
// events give the same transcript; text that events repeat (a delta, and the whole) is in it once.
func Transcript(events []Event) []Said {
	all := []Said{}
	for _, e := range events {
		say := func(role string, content ...json.RawMessage) {
			if len(content) > 0 {
				all = append(all, Said{Role: role, Seq: e.Seq, TaskID: e.Trace.TaskID, Content: content})
			}
		}
		switch e.Type {
		case TaskStarted:
			var started struct{ Messages []Message }
			if json.Unmarshal(e.Payload, &started) == nil {
				for _, m := range started.Messages {
					say(m.Role, m.Content...)
				}
			}
		case OutputCompleted:
			var output struct{ Content []json.RawMessage }
			if json.Unmarshal(e.Payload, &output) == nil {
				say("assistant", output.Content...)
			}
		case CallRequested:
			use := ToolUse{}
			if json.Unmarshal(e.Payload, &use) == nil {
				use.Type = "tool_use"
				say("assistant", encode(use))
			}
		case CallCompleted, CallDenied:
			result := ToolResult{}
			if json.Unmarshal(e.Payload, &result) == nil {
				result.Type = "tool_result"
				result.IsError = result.IsError || e.Type == CallDenied
				say("tool", encode(result))
			}
		}
	}
	return all
}
