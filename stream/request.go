package stream

import (
	"encoding/json"
	"slices"

	"harness/internal/runtime/wire"
)

// The kinds of RequestRef.Kind; anything else is shown as an approval.
const (
	kindToolInput = "tool_input"
	kindToolCall  = "tool_call"
)

// RequestPayload returns a pending interactive request for clients. It is the payload of the approval,
// tool_user_input_requested and tool_call_requested frames, and an entry of the REST lists. The golden recordings have
// the same object in both. params come from the runtime, and are passed through byte for byte as details.
func RequestPayload(ref RequestRef, method string, params json.RawMessage) json.RawMessage {
	return AppendRequestPayload(nil, ref, method, params)
}

// AppendRequestPayload appends the RequestPayload to out without another copy.
func AppendRequestPayload(out []byte, ref RequestRef, method string, params json.RawMessage) []byte {
	// A request whose params are not an object has no members to show; they are then null.
	shown := []string{"callId", "tool", "arguments"}
	fields := wire.Members(params, append(shown, "questions")...)
	asked := fields[len(shown)]

	idName, itemID := "requestId", ref.ItemID
	switch ref.Kind {
	case kindToolInput:
	case kindToolCall:
		if itemID == "" {
			itemID = wire.Text(fields[0])
		}
	default:
		idName = "approvalId"
	}

	size := len(params) + len(ref.Summary) + len(ref.Decisions) + 512 + shownSize(&ref, fields)
	out = append(slices.Grow(out, size), '{')
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
		for i, name := range shown {
			out = appendMember(out, name)
			out = appendRaw(out, fields[i], "null")
		}
	}
	out = appendMember(out, "summary")
	out = appendString(out, ref.Summary)
	if ref.Kind == kindToolInput {
		questions := ref.Questions
		if questions == nil {
			questions = asked
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

// shownSize bounds the bytes of the members that only some kinds of request have.
func shownSize(ref *RequestRef, fields []json.RawMessage) int {
	switch ref.Kind {
	case kindToolCall:
		return len(fields[0]) + len(fields[1]) + len(fields[2])
	case kindToolInput:
		return max(len(fields[3]), len(ref.Questions))
	default:
		return 0
	}
}

// appendQuestions rewrites the questions with the original's members in the original's order. Multiple and optional
// follow where the runtime sent them. The values stay unchanged.
func appendQuestions(dst []byte, raw json.RawMessage) []byte {
	members := []string{"id", "header", "question", "options", "isOther", "isSecret", "multiple", "optional"}
	missing := []string{`""`, `""`, `""`, "null", "false", "false"}
	dst = append(dst, '[')
	first := true
	for question := range wire.Elements(raw) {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		if question[0] != '{' {
			dst = append(dst, question...)
			continue
		}
		dst = append(dst, '{')
		for i, value := range wire.Members(question, members...) {
			if i < len(missing) || value != nil {
				dst = appendMember(dst, members[i])
				dst = appendRaw(dst, value, missing[min(i, len(missing)-1)])
			}
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}
