package tasks

import "encoding/json"

// Said is a message of a session's transcript from the user, the assistant or a tool.
type Said struct {
	Role string `json:"role"`
	// Seq is the number of the event with the message, TaskID its task.
	Seq    int64  `json:"seq"`
	TaskID string `json:"task_id"`
	// Content lists blocks: the user's as given, the model's as completed, ToolUse and ToolResult.
	Content []json.RawMessage `json:"content"`
}

// ToolUse is the assistant's block for a tool call.
type ToolUse struct {
	Type    string          `json:"type"` // tool_use
	CallID  string          `json:"tool_call_id"`
	Attempt int             `json:"attempt"`
	Name    string          `json:"name"`
	Input   json.RawMessage `json:"input"`
}

// ToolResult is the tool's block with the result of a call. A denied call is an error with the reason.
type ToolResult struct {
	Type    string `json:"type"` // tool_result
	CallID  string `json:"tool_call_id"`
	Attempt int    `json:"attempt"`
	IsError bool   `json:"is_error"`
	// Preview is the part of the result in the event, Ref the artifact with the complete result.
	Preview json.RawMessage `json:"result_preview,omitempty"`
	Ref     json.RawMessage `json:"result_ref,omitempty"`
	// Reason is the reason of a denial.
	Reason string `json:"reason,omitempty"`
}

// Transcript returns the conversation of a session, derived from its events: the user's messages at a task's start, the
// model's completed outputs, and each attempt of a tool call with its result. The same events yield the same
// transcript. Text that events repeat (as deltas and complete) appears once.
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
