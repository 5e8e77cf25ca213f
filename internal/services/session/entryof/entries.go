// Package entryof builds the transcript entries of items and interactive requests.
//
// It owns their form in a transcript. It must never know how they are stored.
package entryof

import (
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/lib/javascript"
	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/services/session"
	"harness/transcript"
)

// Item returns the transcript entry of a runtime's item. receivedAt (ms) replaces times that the runtime did not
// report.
func Item(turnID string, change runtime.ItemChanged, receivedAt int64) transcript.Entry {
	item := change.Item
	entry := transcript.Entry{MessageID: item.ID, TurnID: turnID, Role: item.Role, Type: item.Type, Content: item.Content,
		Status: transcript.Streaming}
	SetDetails(&entry, item)
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

// SetDetails adds the item's details to its entry, and its values that are too long to store twice.
func SetDetails(entry *transcript.Entry, item runtime.Item) {
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

// requestTerms are the names of one kind of interactive request in the transcript and on the stream.
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
		return requestTerms{"tool-input-", "tool_input", "Tool input", EventToolInputResolved, "requestId", []string{"questions"}}
	case runtime.RequestToolCall:
		return requestTerms{"tool-call-", "tool_call", "Tool call", EventToolCallResolved, "requestId",
			[]string{"tool", "callId", "arguments"}}
	}
	return requestTerms{"approval-", "approval", "Approval", EventApprovalResolved, "approvalId", nil}
}

// Request returns the entry of an interactive request; Resolution later replaces it.
func Request(r session.Request) transcript.Entry {
	w := termsOf(r.Kind)
	entry := transcript.Entry{MessageID: w.prefix + r.ID, TurnID: r.TurnID, Role: "system", Type: w.typeStem + ".request",
		Content: r.Summary, StartedAt: &r.CreatedAt, Status: transcript.Complete}
	fields := requestDetails(r, w.leading)
	if len(r.Params) > runtime.LongItem {
		entry.Source = &transcript.Source{Details: fields.Parts()}
		return entry
	}
	details := transcript.Indented(fields.Encode())
	entry.Details = &details
	return entry
}

// Resolution returns the entry of a settled request.
func Resolution(r session.Request) transcript.Entry {
	w := termsOf(r.Kind)
	details := transcript.Indented(ResolutionPayload(r))
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

// ResolutionPayload returns the payload of a resolution event. Its keys and their order match codex-manager.
func ResolutionPayload(r session.Request) json.RawMessage {
	w := termsOf(r.Kind)
	fields := jsonobject.Object{}.Set(w.idKey, javascript.MustEncode(r.ID)).Set("status", javascript.MustEncode(string(r.Status)))
	switch {
	case r.Kind == runtime.RequestToolCall:
		success := r.Reply != nil && r.Reply.Success
		fields = fields.Set("success", json.RawMessage(fmt.Sprint(success)))
		if r.Reply != nil && r.Reply.Message != "" {
			fields = fields.Set("message", javascript.MustEncode(r.Reply.Message)) // it was refused
		}
	case r.Reply != nil:
		fields = fields.Set("decision", javascript.MustEncode(r.Reply.Decision))
		if r.Kind == runtime.RequestApproval {
			fields = fields.Set("scope", javascript.MustEncode(Scope(r.Reply)))
		}
		if len(r.Reply.Choice) > 0 {
			fields = fields.Set("choice", r.Reply.Choice)
		}
		if r.Reply.Message != "" {
			fields = fields.Set("message", javascript.MustEncode(r.Reply.Message))
		}
	}
	return fields.Encode()
}

// Scope returns how far a decision reaches: one turn, unless the reply names more.
func Scope(reply *runtime.Reply) string {
	if reply.Scope == "" {
		return "turn"
	}
	return reply.Scope
}

// requestDetails returns the expandable part of the entry: when and what the runtime asked, then the request's
// unchanged parameters.
func requestDetails(r session.Request, leading []string) jsonobject.Object {
	params := jsonobject.Parse(r.Params)
	if r.Questions != nil {
		params = params.Set("questions", r.Questions) // the parameters of a form lack its questions
	}
	fields := jsonobject.Object{}.Set("method", javascript.MustEncode(r.Method)).
		Set("createdAt", javascript.MustEncode(javascript.ISOTime(r.CreatedAt)))
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

// Types of the events for resolved interactive requests.
const (
	EventApprovalResolved  = "approval_resolved"
	EventToolInputResolved = "tool_user_input_resolved"
	EventToolCallResolved  = "tool_call_resolved"
)

// ResolutionEvent returns the type of the event for a resolved request of a kind.
func ResolutionEvent(kind runtime.RequestKind) string { return termsOf(kind).event }

// RequestOf returns the request whose entry has a message id, "" for other entries.
func RequestOf(messageID string) string {
	for _, kind := range []runtime.RequestKind{runtime.RequestApproval, runtime.RequestToolInput, runtime.RequestToolCall} {
		if id, is := strings.CutPrefix(messageID, termsOf(kind).prefix); is {
			return id
		}
	}
	return ""
}
