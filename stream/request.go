package stream

import "encoding/json"

// The kinds of RequestRef.Kind; anything else is shown as an approval.
const (
	kindToolInput = "tool_input"
	kindToolCall  = "tool_call"
)

// RequestPayload is a pending interactive request as clients see it: the payload of the approval, tool_user_input_requested and
// tool_call_requested frames, and an entry of the REST lists (the golden recordings have the same object in both). params are the runtime's
// own, passed through byte for byte as details.
func RequestPayload(ref RequestRef, method string, params json.RawMessage) json.RawMessage {
	// A request whose params are no object has no members to show; the ones read below are then null.
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(params, &fields)

	idName, itemID := "requestId", ref.ItemID
	switch ref.Kind {
	case kindToolInput:
	case kindToolCall:
		if itemID == "" {
			_ = json.Unmarshal(fields["callId"], &itemID)
		}
	default:
		idName = "approvalId"
	}

	out := make([]byte, 0, 2*len(params)+512)
	out = append(out, '{')
	out = appendMember(out, idName)
	out = appendString(out, ref.ID)
	out = appendMember(out, "method")
	out = appendString(out, method)
	out = appendMember(out, "threadId")
	out = appendNullable(out, ref.ThreadID)
	out = appendMember(out, "turnId")
	out = appendNullable(out, ref.TurnID)
	out = appendMember(out, "itemId")
	out = appendNullable(out, itemID)
	if ref.Kind == kindToolCall {
		for _, name := range []string{"callId", "tool", "arguments"} {
			out = appendMember(out, name)
			out = appendRaw(out, fields[name], "null")
		}
	}
	out = appendMember(out, "summary")
	out = appendString(out, ref.Summary)
	if ref.Kind == kindToolInput {
		questions := ref.Questions
		if questions == nil {
			questions = fields["questions"]
		}
		out = appendMember(out, "questions")
		out = appendQuestions(out, questions)
	}
	if ref.Decisions != nil {
		out = appendMember(out, "availableDecisions")
		out = append(out, ref.Decisions...)
	}
	out = appendMember(out, "details")
	out = appendRaw(out, params, "null")
	out = appendMember(out, "createdAt")
	out = appendTime(out, ref.CreatedAt)
	out = appendMember(out, "status")
	return append(out, `"pending"}`...)
}

// appendQuestions rewrites the questions with the original's members in the original's order; the values stay as the runtime wrote them.
func appendQuestions(dst []byte, raw json.RawMessage) []byte {
	var questions []json.RawMessage
	_ = json.Unmarshal(raw, &questions)
	dst = append(dst, '[')
	for i, question := range questions {
		if i > 0 {
			dst = append(dst, ',')
		}
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(question, &fields); err != nil || fields == nil {
			dst = append(dst, question...)
			continue
		}
		dst = append(dst, '{')
		for _, member := range []struct{ name, fallback string }{
			{"id", `""`},
			{"header", `""`},
			{"question", `""`},
			{"options", "null"},
			{"isOther", "false"},
			{"isSecret", "false"},
		} {
			dst = appendMember(dst, member.name)
			dst = appendRaw(dst, fields[member.name], member.fallback)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
