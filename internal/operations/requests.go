package operations

import (
	"context"
	"encoding/json"

	"harness/internal/lib/javascript"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// RequestStore has the methods of sessions that Decider needs.
type RequestStore interface {
	// Requests lists the pending interactive requests of a session, oldest first. An unknown session has none.
	Requests(ctx context.Context, sessionID string, kind runtime.RequestKind) ([]session.Request, error)
	// Pending lists the pending requests of a session, oldest first; AllPending lists those of all sessions except
	// workers'.
	Pending(ctx context.Context, sessionID string) ([]session.Request, error)
	AllPending(ctx context.Context) ([]session.Request, error)
	// Settle decides a pending request exactly once: ErrRequestNotFound, or *session.SettledError naming how it was
	// settled before.
	Settle(ctx context.Context, requestID string, kind runtime.RequestKind, reply runtime.Reply, decidedBy string) (
		session.Request, error)
}

// Decider lists and decides interactive requests: approvals, requests for input and tool calls.
type Decider struct {
	access   *Access
	store    RequestStore
	runtimes *RuntimeAdmin
}

// Requests lists the pending interactive requests of a session of one kind, oldest first. An unknown session has none.
func (s *Decider) Requests(ctx context.Context, sessionID string, kind runtime.RequestKind) ([]session.Request, error) {
	_, found, err := s.access.find(ctx, ListRequests, sessionID)
	if err != nil || !found {
		return nil, err
	}
	return s.store.Requests(ctx, sessionID, kind)
}

// SessionOfRequest returns the session of an interactive request, whatever its state. session.ErrRequestNotFound.
func (s *Decider) SessionOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (sessionID string,
	err error) {
	if err := s.access.CheckRequest(ctx, requestID, kind); err != nil {
		return "", err
	}
	return s.access.lookups.SessionOfRequest(ctx, requestID, kind)
}

// accepted is the decision that lets a runtime continue.
const accepted = "accept"

// ApprovalDecision is a person's decision on an approval. Decision is accept, decline or cancel; Scope is turn or
// session. Choice is one of the runtime's offered decisions, unchanged; Option is the name of one. Message is the
// reason; UpdatedInput replaces the arguments of the tool.
type ApprovalDecision struct {
	Decision, Scope, Message, Option string
	Choice, UpdatedInput             json.RawMessage
}

// DecideApproval settles an approval. session.ErrRequestNotFound, *session.SettledError, *runtime.ReplyError.
func (s *Decider) DecideApproval(ctx context.Context, requestID string, in ApprovalDecision, decidedBy string) (
	session.Request, error) {
	if err := s.access.CheckRequest(ctx, requestID, runtime.RequestApproval); err != nil {
		return session.Request{}, err
	}
	if err := checkReply(in.Decision, in.Scope, in.Message); err != nil {
		return session.Request{}, err
	}
	if in.UpdatedInput != nil && in.Decision != accepted {
		return session.Request{}, invalid("updatedInput", "Arguments go with the decision accept only")
	}
	return s.store.Settle(ctx, requestID, runtime.RequestApproval,
		runtime.Reply{Decision: in.Decision, Scope: in.Scope, Choice: in.Choice, Option: in.Option, Message: in.Message,
			UpdatedInput: in.UpdatedInput}, decidedBy)
}

// ToolInputDecision is a person's answer to questions: Answers is the object of answers by question. Response is an
// alternative: the complete answer in the runtime's own form.
type ToolInputDecision struct {
	Decision, Message string
	Answers, Response json.RawMessage
}

// DecideToolInput settles a request for input; errors as for DecideApproval, and *InvalidError for answers that would
// have no effect.
func (s *Decider) DecideToolInput(ctx context.Context, requestID string, in ToolInputDecision, decidedBy string) (
	session.Request, error) {
	if err := s.access.CheckRequest(ctx, requestID, runtime.RequestToolInput); err != nil {
		return session.Request{}, err
	}
	if err := checkReply(in.Decision, "", in.Message); err != nil {
		return session.Request{}, err
	}
	switch {
	case !hasMembers(in.Answers):
	case in.Response != nil:
		return session.Request{}, invalid("answers", "Give answers or response, not both")
	case in.Decision != accepted:
		return session.Request{}, invalid("answers", "Answers go with the decision accept only")
	}
	reply := runtime.Reply{Decision: in.Decision, Raw: in.Response, Message: in.Message}
	if in.Decision == accepted {
		reply.Answers = json.RawMessage("{}")
		if in.Answers != nil {
			reply.Answers = in.Answers
		}
	}
	return s.store.Settle(ctx, requestID, runtime.RequestToolInput, reply, decidedBy)
}

func hasMembers(object json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(object, &members) == nil && len(members) > 0
}

// ToolCallAnswer is the result of a client tool: a Text, ContentItems, or Response, the complete answer in the
// runtime's own form. Success nil means true. Refusal records why the tool was not run, "" if it ran.
type ToolCallAnswer struct {
	Success                *bool
	Text                   *string
	ContentItems, Response json.RawMessage
	Refusal                string
}

// AnswerToolCall settles a tool call; errors as for DecideApproval, and *InvalidError for combinations of parts that
// would partly be lost.
func (s *Decider) AnswerToolCall(ctx context.Context, requestID string, in ToolCallAnswer, decidedBy string) (
	session.Request, error) {
	if err := s.access.CheckRequest(ctx, requestID, runtime.RequestToolCall); err != nil {
		return session.Request{}, err
	}
	if err := checkReply(accepted, "", in.Refusal); err != nil {
		return session.Request{}, err
	}
	stated := successOf(in.Response)
	switch {
	case in.Response != nil && (in.Text != nil || in.ContentItems != nil):
		return session.Request{}, invalid("response", "Give response, or text or contentItems, not both")
	case in.Text != nil && in.ContentItems != nil:
		return session.Request{}, invalid("text", "Give text or contentItems, not both")
	case in.Response != nil && in.Success != nil && (stated == nil || *stated != *in.Success):
		return session.Request{}, invalid("success",
			"The response is passed on unchanged; it states itself whether the call succeeded")
	}
	reply := runtime.Reply{Success: true, ContentItems: json.RawMessage("[]"), Raw: in.Response, Message: in.Refusal}
	if in.Response == nil {
		stated = in.Success
	}
	if stated != nil {
		reply.Success = *stated
	}
	switch {
	case in.ContentItems != nil:
		reply.ContentItems = in.ContentItems
	case in.Text != nil:
		reply.ContentItems = textItem(*in.Text)
	}
	return s.store.Settle(ctx, requestID, runtime.RequestToolCall, reply, decidedBy)
}

// successOf returns the success in an answer of the runtime's own form, nil if it has none.
func successOf(response json.RawMessage) *bool {
	var said struct {
		Success json.RawMessage `json:"success"`
	}
	var success bool
	if json.Unmarshal(response, &said) != nil || said.Success == nil || json.Unmarshal(said.Success, &success) != nil ||
		string(said.Success) == "null" {
		return nil
	}
	return &success
}

// textItem returns a text as the only content item of an answer.
func textItem(text string) json.RawMessage {
	return javascript.MustEncode([]struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{{"inputText", text}})
}

// Pending lists the pending requests of a session, or for "" of all sessions except workers', oldest first.
func (s *Decider) Pending(ctx context.Context, sessionID string) ([]session.Request, error) {
	if sessionID == "" {
		all, err := s.store.AllPending(ctx)
		if err != nil {
			return nil, err
		}
		return s.access.within(ctx, all)
	}
	if err := s.access.Check(ctx, ListRequests, sessionID); err != nil {
		return nil, err
	}
	return s.store.Pending(ctx, sessionID)
}

// RuntimeOfRequest returns the runtime of an interactive request. session.ErrRequestNotFound.
func (s *Decider) RuntimeOfRequest(ctx context.Context, requestID string, kind runtime.RequestKind) (string, error) {
	sessionID, err := s.SessionOfRequest(ctx, requestID, kind)
	if err != nil {
		return "", err
	}
	found, err := s.access.lookups.Lookup(ctx, sessionID)
	return found.Runtime, err
}

// ReasonWaits reports whether the agent gets the reason of a denial only with the next message, because its runtime
// accepts none with the denial.
func (s *Decider) ReasonWaits(ctx context.Context, denied session.Request) (bool, error) {
	if !denied.ReasonGiven() {
		return false, nil
	}
	of, err := s.access.lookups.Lookup(ctx, denied.SessionID)
	if err != nil {
		return false, err
	}
	adapter, err := s.runtimes.chosen(of.Runtime)
	if err != nil {
		return false, err
	}
	return !runtime.CapabilitiesOf(adapter).DenyReason, nil
}
