package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/internal/runtime"
)

var (
	rollbackBody = schema.Optional(schema.Struct(rest.Optional("numTurns", schema.Integer().Coerce().Min(1))))
	reviewText   = schema.Text{}.Trim().Min(1)
	reviewBody   = schema.Optional(schema.Struct(
		rest.Optional("delivery", schema.Enum("inline", "detached")), rest.Optional("targetType", schema.Enum(
			runtime.ReviewUncommitted, runtime.ReviewBranch, runtime.ReviewCommit, runtime.ReviewCustom)),
		rest.Optional("branch", reviewText), rest.Optional("sha", reviewText),
		rest.Optional("title", reviewText.Max(operations.MaxReviewTitle)), rest.Optional("instructions", reviewText)))
	steerBody = schema.Struct(rest.Required("input", rest.Name))
)

// threadRoutes act on a session's conversation in its runtime. The runtime's message about an unknown conversation is
// part of the contract.
func (s *threads) threadRoutes() []rest.Route {
	const one = "/api/sessions/:sessionId"
	return []rest.Route{
		{Method: http.MethodPost, Path: one + "/fork", Operation: operations.Fork, Mapped: true, Once: true, Handle: s.forkSession},
		{Method: http.MethodPost, Path: one + "/compact", Operation: operations.Compact, Mapped: true,
			Handle: asked(s.threads.Compact)},
		{
			Method: http.MethodPost, Path: one + "/background-terminals/clean", Operation: operations.CleanTerminals,
			Mapped: true, Handle: asked(s.threads.CleanTerminals),
		},
		{Method: http.MethodGet, Path: one + "/background", Operation: operations.ReadBackground, Handle: s.background},
		{Method: http.MethodPost, Path: one + "/background/:taskId/stop", Operation: operations.EndBackground, Handle: s.endBackground},
		{Method: http.MethodPost, Path: one + "/rollback", Operation: operations.RollBack, Body: rollbackBody, Mapped: true,
			Handle: s.rollback},
		{Method: http.MethodPost, Path: one + "/review", Operation: operations.Review, Body: reviewBody, Mapped: true,
			Handle: s.review},
		{
			Method: http.MethodPost, Path: one + "/turns/:turnId/steer", Agent: rest.AgentTurn, Operation: operations.Steer,
			Body: steerBody, Once: true, Handle: s.steer,
		},
	}
}

type resultBody struct {
	Status    string          `json:"status"`
	SessionID string          `json:"sessionId"`
	Result    json.RawMessage `json:"result"`
}

func answered(in *rest.Input, result json.RawMessage, err error) (rest.Reply, error) {
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(resultBody{Status: "ok", SessionID: in.SessionID(), Result: result})
}

// asked returns the runtime's response to an operation that needs only the session.
func asked(operation func(ctx context.Context, sessionID string) (json.RawMessage, error)) func(context.Context,
	*rest.Input) (rest.Reply, error) {
	return func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
		result, err := operation(ctx, in.SessionID())
		return answered(in, result, err)
	}
}

func (s *threads) forkSession(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	forked, err := s.threads.Fork(ctx, in.SessionID())
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status string          `json:"status"`
		Source string          `json:"sourceSessionId"`
		Fork   sessionView     `json:"session"`
		Thread json.RawMessage `json:"thread"`
	}{"ok", in.SessionID(), viewSession(forked.Session), forked.Thread})
}

// rollback drops the last turns, one by default.
func (s *threads) rollback(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	turns := int64(1)
	if given := in.Body.Get("numTurns"); given.Defined() {
		turns = given.Int()
	}
	result, err := s.threads.RollBack(ctx, in.SessionID(), turns)
	return answered(in, result, err)
}

func (s *threads) review(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	result, err := s.threads.Review(ctx, in.SessionID(), operations.ReviewRequest{
		Delivery: in.Body.Get("delivery").Text(), Target: in.Body.Get("targetType").Text(),
		Branch: in.Body.Get("branch").TextPointer(), SHA: in.Body.Get("sha").TextPointer(),
		Title: in.Body.Get("title").TextPointer(), Instructions: in.Body.Get("instructions").TextPointer(),
	})
	return answered(in, result, err)
}

type steerReply struct {
	Status    string      `json:"status"`
	Code      string      `json:"code,omitempty"`
	SessionID string      `json:"sessionId"`
	TurnID    string      `json:"turnId"`
	Result    steerResult `json:"result"`
}

type steerResult struct {
	ActionType string       `json:"actionType"`
	Status     string       `json:"status"`
	Details    steerDetails `json:"details"`
}

type steerDetails struct {
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	Error    string `json:"error,omitempty"`
}

// steer adds input to a running turn. The runtime's refusals have a separate envelope.
func (s *threads) steer(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	turnID := in.Params["turnId"]
	rest.NoteTurn(ctx, turnID)
	err := s.turns.Steer(ctx, in.SessionID(), turnID, in.Body.Get("input").Text())
	answer := steerReply{Status: "ok", SessionID: in.SessionID(), TurnID: turnID, Result: steerResult{
		ActionType: "turn.steer", Status: "performed", Details: steerDetails{ThreadID: in.SessionID(), TurnID: turnID}}}
	if err == nil {
		return rest.OK(answer)
	}
	var refusal *runtime.Error
	if !errors.As(err, &refusal) {
		return rest.Reply{}, err
	}
	status, code := http.StatusBadRequest, "failed"
	switch {
	case errors.Is(refusal, runtime.ErrOtherTurn):
	case errors.Is(refusal, runtime.ErrNoActiveTurn):
		status, code = http.StatusConflict, "conflict"
	case errors.Is(refusal, runtime.ErrNotFound):
		status, code = http.StatusConflict, "already_resolved"
	}
	answer.Status, answer.Code, answer.Result.Status, answer.Result.Details.Error = "error", code, code, refusal.Error()
	return rest.Reply{Status: status, Body: answer}, nil
}
