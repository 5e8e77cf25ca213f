package sessions

import (
	"context"
	"net/http"
	"slices"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
)

var (
	// reasonField is a person's reason. The server stores it and shows it with the decision.
	reasonField          = rest.Optional("message", schema.Text{}.Max(operations.MaxReason))
	decisionField        = schema.Enum("accept", "decline", "cancel")
	approvalDecisionBody = schema.Struct(
		rest.Required("decision", decisionField),
		schema.Field{Name: "scope", Schema: schema.Default(schema.Enum("turn", "session"), schema.StringValue("turn"))},
		schema.Field{Name: "choice", Schema: schema.Any()}, rest.Optional("option", rest.Name), reasonField,
		schema.Field{Name: "updatedInput", Schema: schema.Any()})
	toolInputDecisionBody = schema.Struct(
		rest.Required("decision", decisionField),
		rest.Optional("answers", schema.Record(schema.Struct(rest.Required("answers", schema.ListOf(schema.Text{}))))),
		schema.Field{Name: "response", Schema: schema.Any()}, reasonField)
	toolCallResponseBody = schema.Struct(
		rest.Optional("success", schema.Boolean()), rest.Optional("text", schema.Text{}),
		rest.Optional("contentItems", schema.ListOf(schema.Tagged("type",
			schema.Variant{Tag: "inputText",
				Schema: schema.Struct(rest.Required("type", schema.Any()), rest.Required("text", schema.Text{}))},
			schema.Variant{Tag: "inputImage",
				Schema: schema.Struct(rest.Required("type", schema.Any()), rest.Required("imageUrl", rest.Name))}))),
		schema.Field{Name: "response", Schema: schema.Any()})
)

func (s *requests) requestRoutes() []rest.Route {
	const one = "/api/sessions/:sessionId"
	list := func(path string, kind runtime.RequestKind) rest.Route {
		return rest.Route{Method: http.MethodGet, Path: one + path, Operation: operations.ListRequests,
			Handle: func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
				return s.listRequests(ctx, in, kind)
			}}
	}
	approvals := list("/approvals", runtime.RequestApproval)
	approvals.Agent = rest.AgentSession
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/requests", OwnReach: true, Handle: s.listAllRequests},
		approvals,
		list("/tool-input", runtime.RequestToolInput),
		list("/tool-calls", runtime.RequestToolCall),
		{Method: http.MethodPost, Path: "/api/approvals/:approvalId/decision", OwnReach: true, Agent: rest.AgentApproval,
			Body: approvalDecisionBody, Once: true, Again: true, Handle: s.decideApproval},
		{Method: http.MethodPost, Path: "/api/tool-input/:requestId/decision", OwnReach: true, Body: toolInputDecisionBody,
			Once: true, Again: true, Handle: s.decideToolInput},
		{Method: http.MethodPost, Path: "/api/tool-calls/:requestId/response", OwnReach: true, Body: toolCallResponseBody,
			Once: true, Again: true, Handle: s.answerToolCall},
	}
}

func (s *requests) listRequests(ctx context.Context, in *rest.Input, kind runtime.RequestKind) (rest.Reply, error) {
	requests, err := s.decider.Requests(ctx, in.SessionID(), kind)
	if err != nil {
		return rest.Reply{}, err
	}
	return encodeRequests(requests, func(session.Request) string { return "" })
}

// requestKind names the kind of a request in a list with several kinds.
func requestKind(r session.Request) string {
	switch r.Kind {
	case runtime.RequestToolInput:
		return "toolInput"
	case runtime.RequestToolCall:
		return "toolCall"
	default:
		return "approval"
	}
}

// listAllRequests lists the pending requests of all sessions except workers'.
func (s *requests) listAllRequests(ctx context.Context, _ *rest.Input) (rest.Reply, error) {
	requests, err := s.decider.Pending(ctx, "")
	if err != nil {
		return rest.Reply{}, err
	}
	return encodeRequests(requests, requestKind)
}

// encodeRequests formats requests like the stream's frames. Their kind comes first, unless it is "".
func encodeRequests(requests []session.Request, kind func(session.Request) string) (rest.Reply, error) {
	body := []byte(`{"data":[`) // same format as rest.List; requests may be long
	for i, r := range requests {
		if i > 0 {
			body = append(body, ',')
		}
		from := len(body)
		body = stream.AppendRequestPayload(body, stream.RequestRef{
			ID: r.ID, Kind: string(r.Kind), Summary: r.Summary, ThreadID: r.SessionID, TurnID: r.TurnID, ItemID: r.ItemID,
			CreatedAt: r.CreatedAt, Decisions: r.Decisions, Questions: r.Questions,
		}, r.Method, r.Params)
		if word := kind(r); word != "" {
			body = slices.Insert(body, from+1, aboutRequest(word, r)...)
		}
	}
	return rest.OK(rest.Encoded(append(body, "]}"...)))
}

// aboutRequest encodes the members that only lists of all requests have: the kind, the agent's reason, and the changes.
func aboutRequest(kind string, r session.Request) []byte {
	about := javascript.MustEncode(struct {
		Kind    string             `json:"kind"`
		Reason  string             `json:"reason,omitempty"`
		Changes []wire.ChangedFile `json:"changes,omitempty"`
	}{kind, wire.Text(wire.Members(r.Params, "reason")[0]), r.Changes})
	return append(about[1:len(about)-1], ',')
}

func (s *requests) decideApproval(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	id := in.Params["approvalId"]
	settled, err := s.decider.DecideApproval(ctx, id, operations.ApprovalDecision{
		Decision: in.Body.Get("decision").Text(), Scope: in.Body.Get("scope").Text(), Choice: in.Body.Get("choice").JSON(),
		Option: in.Body.Get("option").Text(), Message: in.Body.Get("message").Text(),
		UpdatedInput: in.Body.Get("updatedInput").JSON(),
	}, in.Actor)
	if err != nil {
		return rest.Reply{}, err
	}
	return s.settled(ctx, settled, settledBody{Status: "ok", ApprovalID: id})
}

func (s *requests) decideToolInput(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	id := in.Params["requestId"]
	settled, err := s.decider.DecideToolInput(ctx, id, operations.ToolInputDecision{
		Decision: in.Body.Get("decision").Text(), Answers: in.Body.Get("answers").JSON(),
		Response: in.Body.Get("response").JSON(), Message: in.Body.Get("message").Text(),
	}, in.Actor)
	if err != nil {
		return rest.Reply{}, err
	}
	return s.settled(ctx, settled, settledBody{Status: "ok", RequestID: id})
}

func (s *requests) answerToolCall(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	id := in.Params["requestId"]
	answer := operations.ToolCallAnswer{
		Text: in.Body.Get("text").TextPointer(), ContentItems: in.Body.Get("contentItems").JSON(),
		Response: in.Body.Get("response").JSON(),
	}
	if success := in.Body.Get("success"); success.Defined() {
		given := success.True()
		answer.Success = &given
	}
	settled, err := s.decider.AnswerToolCall(ctx, id, answer, in.Actor)
	if err != nil {
		return rest.Reply{}, err
	}
	return s.settled(ctx, settled, settledBody{Status: "ok", RequestID: id})
}

type settledBody struct {
	Status     string `json:"status"`
	ApprovalID string `json:"approvalId,omitempty"`
	RequestID  string `json:"requestId,omitempty"`
	ThreadID   string `json:"threadId"`
	// Reaches reports that the agent gets the reason of a denial with the next message, "" if it gets it immediately.
	Reaches string `json:"reasonReaches,omitempty"`
}

// withNextMessage is a value of settledBody.Reaches.
const withNextMessage = "next_message"

func (s *requests) settled(ctx context.Context, request session.Request, body settledBody) (rest.Reply, error) {
	rest.NoteSession(ctx, request.SessionID)
	rest.NoteTurn(ctx, request.TurnID)
	body.ThreadID = request.SessionID
	waits, err := s.decider.ReasonWaits(ctx, request)
	switch {
	case err != nil: // the decision is still valid
		telemetry.Log(ctx).Warn().Err(err).Str("session", request.SessionID).
			Msg("cannot determine when the agent receives the reason of a decline")
	case waits:
		body.Reaches = withNextMessage
	}
	return rest.OK(body)
}
