package window

import (
	"encoding/json"
	"strings"

	"harness/internal/runtime/wire"
	"harness/transcript"
)

// Of converts a transcript to a conversation: messages and tool calls. It omits entries that matter only on a screen
// (thoughts, questions and their answers, notices).
func Of(entries []transcript.Entry) []Turn {
	var turns []Turn
	for i := range entries {
		messages := messagesOf(entries[i].Whole())
		if len(messages) == 0 {
			continue
		}
		if n := len(turns); n == 0 || turns[n-1].ID != entries[i].TurnID {
			turns = append(turns, Turn{ID: entries[i].TurnID})
		}
		last := &turns[len(turns)-1]
		last.Messages = append(last.Messages, messages...)
	}
	return turns
}

// turnError is the type of the entry that says why a turn failed.
const turnError = "turn.error"

func messagesOf(e transcript.Entry) []Message {
	text := func(role, said string) []Message {
		if strings.TrimSpace(said) == "" {
			return nil
		}
		return []Message{{role, []Block{{Type: BlockText, Text: said}}}}
	}
	switch {
	case e.Role == RoleUser || e.Role == RoleAssistant:
		return text(e.Role, e.Content)
	case e.Type == turnError:
		return text(RoleSystem, e.Content)
	case e.Type == wire.ItemPlan:
		return text(RoleAssistant, e.Content)
	case e.Details != nil && wire.IsTool(e.Type):
		return callOf(e, json.RawMessage(*e.Details))
	}
	return nil
}

// callOf returns the call of a tool and its result; the result is present even if it is unknown.
func callOf(e transcript.Entry, item json.RawMessage) []Message {
	call := wire.ReadCall(e.Type, item)
	result := Block{Type: BlockToolResult, CallID: e.MessageID, IsError: call.Failed, Output: textOf(call.Result)}
	if e.Status != transcript.Complete {
		result.IsError = true
		result.Output = strings.TrimSpace(result.Output + "\n(it was interrupted; whether it came to its end is not known)")
	}
	use := Block{Type: BlockToolUse, CallID: e.MessageID, Name: call.Name, Input: compact(call.Input)}
	return []Message{{RoleAssistant, []Block{use}}, {RoleTool, []Block{result}}}
}

// compact returns JSON that another value can contain; text that is not JSON becomes a JSON string.
func compact(raw json.RawMessage) json.RawMessage {
	if json.Valid(raw) {
		return raw
	}
	encoded, err := json.Marshal(string(raw))
	if err != nil {
		return nil
	}
	return encoded
}

// textOf returns a result as text: a JSON string's text, else its JSON.
func textOf(raw json.RawMessage) string {
	if len(raw) > 0 && raw[0] == '"' {
		return wire.Text(raw)
	}
	return string(raw)
}
