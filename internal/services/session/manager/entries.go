package manager

import (
	"encoding/json"
	"fmt"

	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/services/session"
	"harness/transcript"
)

// entryOfItem is the transcript entry of a runtime's item. receivedAt (ms) stands in for times the runtime did not
// give.
func entryOfItem(turnID string, change runtime.ItemChanged, receivedAt int64) transcript.Entry {
	item := change.Item
	entry := transcript.Entry{MessageID: item.ID, TurnID: turnID, Role: item.Role, Type: item.Type, Content: item.Content,
		Status: transcript.Streaming}
	setDetails(&entry, item)
	if started := item.StartedAt; started != 0 {
		entry.StartedAt = &started
	} else if !change.Done {
		entry.StartedAt = &receivedAt
	}
	if change.Done {
		entry.Status = transcript.Complete
		completed := item.CompletedAt
		if completed == 0 {
			completed = receivedAt
		}
		entry.CompletedAt = &completed
	}
	return entry
}

// setDetails gives the entry of an item its details, and what is too long to be held twice.
func setDetails(entry *transcript.Entry, item runtime.Item) {
	if item.Details != "" {
		entry.Details = &item.Details
	}
	if item.Long == nil && item.LongContent == nil {
		return
	}
	entry.Source = &transcript.Source{Content: item.LongContent}
	if item.Long != nil {
		entry.Source.Details = [][]byte{item.Long}
	}
}

// requestTerms are how one kind of interactive request shows in the transcript and on the stream.
type requestTerms struct {
	prefix   string // of the message id
	typeStem string // of the entry type: <stem>.request, <stem>.resolved
	label    string // begins the entry's content
	event    string // type of the resolution event
	idKey    string // of our id in the event's payload
	leading  []string
}

func termsOf(kind runtime.RequestKind) requestTerms {
	switch kind {
	case runtime.RequestToolInput:
		return requestTerms{"tool-input-", "tool_input", "Tool input", eventToolInputResolved, "requestId", []string{"questions"}}
	case runtime.RequestToolCall:
		return requestTerms{"tool-call-", "tool_call", "Tool call", eventToolCallResolved, "requestId",
			[]string{"tool", "callId", "arguments"}}
	}
	return requestTerms{"approval-", "approval", "Approval", eventApprovalResolved, "approvalId", nil}
}

// entryOfRequest is the one entry an interactive request has; entryOfResolution turns it into its end.
func entryOfRequest(r session.Request) transcript.Entry {
	w := termsOf(r.Kind)
	entry := transcript.Entry{MessageID: w.prefix + r.ID, TurnID: r.TurnID, Role: "system", Type: w.typeStem + ".request",
		Content: r.Summary, StartedAt: &r.CreatedAt, Status: transcript.Complete}
	fields := requestDetails(r, w.leading)
	if len(r.Params) > runtime.LongItem {
		entry.Source = &transcript.Source{Details: fields.Pieces()}
		return entry
	}
	details := transcript.Indented(fields.Encode())
	entry.Details = &details
	return entry
}

func entryOfResolution(r session.Request) transcript.Entry {
	w := termsOf(r.Kind)
	details := transcript.Indented(resolution(r))
	content := fmt.Sprintf("%s %s", w.label, r.Status)
	switch {
	case r.Kind == runtime.RequestToolCall:
		content += fmt.Sprintf(" (success=%t)", r.Reply != nil && r.Reply.Success)
	case r.Reply != nil:
		content += fmt.Sprintf(" (%s)", r.Reply.Decision)
		if r.Reply.Message != "" {
			content += ": " + r.Reply.Message
		}
	}
	return transcript.Entry{MessageID: w.prefix + r.ID, TurnID: r.TurnID, Role: "system", Type: w.typeStem + ".resolved",
		Content: content, Details: &details, StartedAt: &r.CreatedAt, CompletedAt: &r.SettledAt, Status: transcript.Complete}
}

// resolution is the payload of a resolution event: the keys and their order are codex-manager's.
func resolution(r session.Request) json.RawMessage {
	w := termsOf(r.Kind)
	fields := jsonobject.Object{}.Set(w.idKey, quote(r.ID)).Set("status", quote(string(r.Status)))
	switch {
	case r.Kind == runtime.RequestToolCall:
		success := r.Reply != nil && r.Reply.Success
		fields = fields.Set("success", json.RawMessage(fmt.Sprint(success)))
		if r.Reply != nil && r.Reply.Message != "" {
			fields = fields.Set("message", quote(r.Reply.Message)) // it was refused
		}
	case r.Reply != nil:
		fields = fields.Set("decision", quote(r.Reply.Decision))
		if r.Kind == runtime.RequestApproval {
			fields = fields.Set("scope", quote(scope(r.Reply)))
		}
		if len(r.Reply.Choice) > 0 {
			fields = fields.Set("choice", r.Reply.Choice)
		}
		if r.Reply.Message != "" {
			fields = fields.Set("message", quote(r.Reply.Message))
		}
	}
	return fields.Encode()
}

func scope(reply *runtime.Reply) string {
	if reply.Scope == "" {
		return "turn"
	}
	return reply.Scope
}

// requestDetails is what a reader can unfold: when and what was asked, then the request's own parameters as they came.
func requestDetails(r session.Request, leading []string) jsonobject.Object {
	params := jsonobject.Parse(r.Params)
	if r.Questions != nil {
		params = params.Set("questions", r.Questions) // a form's questions are not in its parameters
	}
	fields := jsonobject.Object{}.Set("method", quote(r.Method)).Set("createdAt", quote(isoTime(r.CreatedAt)))
	for _, key := range leading {
		if value := params.Get(key); value != nil {
			fields = fields.Set(key, value)
		}
	}
	known := len(fields)
	for _, field := range params {
		if !fields[:known].Replace(field.Name, field.Value) {
			fields = append(fields, field)
		}
	}
	return fields
}
