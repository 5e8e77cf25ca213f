package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"harness/api/schema"
	"harness/runtime"
	"harness/session"
	"harness/stream"
)

// maxReason bounds a reason: it is stored with the decision and shown beside it.
const maxReason = 4000

var (
	// reasonField is a person's reason, in at most maxReason characters.
	reasonField          = optional("message", schema.Text{}.Max(maxReason))
	decisionField        = schema.Enum("accept", "decline", "cancel")
	approvalDecisionBody = schema.Struct(
		required("decision", decisionField), schema.Field{Name: "scope", Schema: schema.Default(schema.Enum("turn", "session"), schema.StringValue("turn"))},
		schema.Field{Name: "choice", Schema: schema.Any()}, optional("option", nameField), reasonField)
	toolInputDecisionBody = schema.Struct(
		required("decision", decisionField),
		optional("answers", schema.Record(schema.Struct(required("answers", schema.ListOf(schema.Text{}))))),
		schema.Field{Name: "response", Schema: schema.Any()}, reasonField)
	toolCallResponseBody = schema.Struct(
		optional("success", schema.Boolean()), optional("text", schema.Text{}),
		optional("contentItems", schema.ListOf(schema.Tagged("type",
			schema.Variant{Tag: "inputText", Schema: schema.Struct(required("type", schema.Any()), required("text", schema.Text{}))},
			schema.Variant{Tag: "inputImage", Schema: schema.Struct(required("type", schema.Any()), required("imageUrl", nameField))}))),
		schema.Field{Name: "response", Schema: schema.Any()})
)

func (s *server) requestRoutes() []route {
	const one = "/api/sessions/:sessionId"
	list := func(path string, kind runtime.RequestKind) route {
		return route{method: http.MethodGet, path: one + path, guards: refuseDeleted | refuseSystem, handle: func(ctx context.Context, in *input) (reply, error) {
			return s.listRequests(ctx, in, kind)
		}}
	}
	approvals := list("/approvals", runtime.RequestApproval)
	approvals.agent = agentSession
	return []route{
		approvals,
		list("/tool-input", runtime.RequestToolInput),
		list("/tool-calls", runtime.RequestToolCall),
		{method: http.MethodPost, path: "/api/approvals/:approvalId/decision", agent: agentApproval, body: approvalDecisionBody, handle: s.decideApproval},
		{method: http.MethodPost, path: "/api/tool-input/:requestId/decision", body: toolInputDecisionBody, handle: s.decideToolInput},
		{method: http.MethodPost, path: "/api/tool-calls/:requestId/response", body: toolCallResponseBody, handle: s.answerToolCall},
	}
}

func (s *server) listRequests(ctx context.Context, in *input, kind runtime.RequestKind) (reply, error) {
	body := dataBody[json.RawMessage]{[]json.RawMessage{}}
	if !in.found {
		return ok(body)
	}
	requests, err := s.Sessions.Requests(ctx, in.sessionID(), kind)
	if err != nil {
		return reply{}, err
	}
	for _, request := range requests {
		payload, err := s.RequestPayload(request)
		if err != nil {
			return reply{}, fmt.Errorf("word request %s: %w", request.ID, err)
		}
		body.Data = append(body.Data, payload)
	}
	return ok(body)
}

// requestPayload words a request as the stream's frames do.
func requestPayload(r session.Request) (json.RawMessage, error) {
	return stream.RequestPayload(stream.RequestRef{
		ID: r.ID, Kind: string(r.Kind), Summary: r.Summary, ThreadID: r.SessionID, TurnID: r.TurnID, ItemID: r.ItemID, CreatedAt: r.CreatedAt,
		Decisions: r.Decisions, Questions: r.Questions,
	}, r.Method, r.Params), nil
}

func (s *server) decideApproval(ctx context.Context, in *input) (reply, error) {
	id := in.params["approvalId"]
	settled, err := s.Sessions.Settle(ctx, id, runtime.RequestApproval, runtime.Reply{
		Decision: in.body.Get("decision").Text(), Scope: in.body.Get("scope").Text(), Choice: in.body.Get("choice").JSON(),
		Option: in.body.Get("option").Text(), Message: in.body.Get("message").Text(),
	}, in.actor)
	if err != nil {
		return reply{}, err
	}
	return s.settled(ctx, settled, settledBody{Status: "ok", ApprovalID: id})
}

func (s *server) decideToolInput(ctx context.Context, in *input) (reply, error) {
	if err := checkToolInputParts(in.body); err != nil {
		return reply{}, err
	}
	id := in.params["requestId"]
	answer := runtime.Reply{Decision: in.body.Get("decision").Text(), Raw: in.body.Get("response").JSON(),
		Message: in.body.Get("message").Text()}
	if answer.Decision == "accept" {
		answer.Answers = json.RawMessage("{}")
		if answers := in.body.Get("answers"); answers.Defined() {
			answer.Answers = answers.JSON()
		}
	}
	settled, err := s.Sessions.Settle(ctx, id, runtime.RequestToolInput, answer, in.actor)
	if err != nil {
		return reply{}, err
	}
	return s.settled(ctx, settled, settledBody{Status: "ok", RequestID: id})
}

// checkToolInputParts refuses answers that would go nowhere.
func checkToolInputParts(body schema.Value) error {
	switch {
	case len(body.Get("answers").Members()) == 0:
		return nil
	case body.Get("response").Defined():
		return &validationError{[]schema.Issue{schema.Custom("Give answers or response, not both", "answers")}}
	case body.Get("decision").Text() != "accept":
		return &validationError{[]schema.Issue{schema.Custom("Answers go with the decision accept only", "answers")}}
	}
	return nil
}

// checkToolCallParts refuses parts of an answer of which only one would be told.
func checkToolCallParts(body schema.Value) error {
	response, text, items := body.Get("response"), body.Get("text").Defined(), body.Get("contentItems").Defined()
	success, told := body.Get("success"), response.Get("success")
	switch {
	case response.Defined() && (text || items):
		return &validationError{[]schema.Issue{schema.Custom("Give response, or text or contentItems, not both", "response")}}
	case text && items:
		return &validationError{[]schema.Issue{schema.Custom("Give text or contentItems, not both", "text")}}
	case response.Defined() && success.Defined() && (told.Kind() != schema.Bool || told.True() != success.True()):
		return &validationError{[]schema.Issue{schema.Custom("The response is passed on as it is; it says of itself whether the call succeeded", "success")}}
	}
	return nil
}

func (s *server) answerToolCall(ctx context.Context, in *input) (reply, error) {
	if err := checkToolCallParts(in.body); err != nil {
		return reply{}, err
	}
	id := in.params["requestId"]
	settled, err := s.Sessions.Settle(ctx, id, runtime.RequestToolCall, toolCallReply(in.body), in.actor)
	if err != nil {
		return reply{}, err
	}
	return s.settled(ctx, settled, settledBody{Status: "ok", RequestID: id})
}

func toolCallReply(body schema.Value) runtime.Reply {
	answer := runtime.Reply{Success: true, ContentItems: json.RawMessage("[]")}
	success := body.Get("success")
	if response := body.Get("response"); response.Defined() {
		answer.Raw = response.JSON()
		success = response.Get("success")
	}
	if success.Kind() == schema.Bool {
		answer.Success = success.True()
	}
	if items := body.Get("contentItems"); items.Defined() {
		answer.ContentItems = items.JSON()
	} else if text := body.Get("text"); text.Defined() {
		answer.ContentItems = schema.ArrayValue(schema.ObjectValue(
			schema.Member{Name: "type", Value: schema.StringValue("inputText")}, schema.Member{Name: "text", Value: text})).JSON()
	}
	return answer
}

type settledBody struct {
	Status     string `json:"status"`
	ApprovalID string `json:"approvalId,omitempty"`
	RequestID  string `json:"requestId,omitempty"`
	ThreadID   string `json:"threadId"`
}

func (s *server) settled(ctx context.Context, request session.Request, body settledBody) (reply, error) {
	noteSession(ctx, request.SessionID)
	noteTurn(ctx, request.TurnID)
	body.ThreadID = request.SessionID
	return ok(body)
}

// notPendingBody refuses a decision; Code and Resolution are ours and say who was first.
type notPendingBody struct {
	Status     string      `json:"status"`
	ApprovalID string      `json:"approvalId,omitempty"`
	RequestID  string      `json:"requestId,omitempty"`
	Code       string      `json:"code,omitempty"`
	Resolution *resolution `json:"resolution,omitempty"`
}

type resolution struct {
	Status    session.RequestStatus `json:"status"`
	Decision  string                `json:"decision,omitempty"`
	Scope     string                `json:"scope,omitempty"`
	Message   string                `json:"message,omitempty"`
	DecidedBy string                `json:"decidedBy,omitempty"`
	DecidedAt string                `json:"decidedAt,omitempty"`
}

func resolutionOf(r session.Request) *resolution {
	res := &resolution{Status: r.Status, DecidedBy: r.DecidedBy}
	if r.Reply != nil {
		res.Decision, res.Scope, res.Message = r.Reply.Decision, r.Reply.Scope, r.Reply.Message
	}
	if r.SettledAt != 0 {
		res.DecidedAt = isoTime(r.SettledAt)
	}
	return res
}
