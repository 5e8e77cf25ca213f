package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"

	"harness/api/schema"
	"harness/runtime"
)

var (
	rollbackBody = schema.Optional(schema.Struct(optional("numTurns", schema.Integer().Coerce().Min(1))))
	reviewText   = schema.Text{}.Trim().Min(1)
	reviewBody   = schema.Optional(schema.Struct(
		optional("delivery", schema.Enum("inline", "detached")), optional("targetType", schema.Enum("uncommittedChanges", "baseBranch", "commit", "custom")),
		optional("branch", reviewText), optional("sha", reviewText), optional("title", reviewText.Max(300)), optional("instructions", reviewText)))
	steerBody = schema.Struct(required("input", nameField))
)

// threadRoutes act on a session's conversation in its runtime. They have no existence check of their own: the runtime's words about an
// unknown conversation are part of the contract.
func (s *server) threadRoutes() []route {
	const one, checks = "/api/sessions/:sessionId", refuseDeleted | refuseSystem | requireOwner
	return []route{
		{method: http.MethodPost, path: one + "/fork", guards: checks, mapped: true, handle: s.forkSession},
		{method: http.MethodPost, path: one + "/compact", guards: checks, mapped: true, handle: s.threadResult("thread/compact/start")},
		{method: http.MethodPost, path: one + "/background-terminals/clean", guards: checks, mapped: true, handle: s.threadResult("thread/backgroundTerminals/clean")},
		{method: http.MethodPost, path: one + "/rollback", guards: checks, body: rollbackBody, mapped: true, handle: s.rollback},
		{method: http.MethodPost, path: one + "/review", guards: checks, body: reviewBody, mapped: true, handle: s.review},
		{method: http.MethodPost, path: one + "/turns/:turnId/steer", agent: agentTurn, guards: checks, body: steerBody, handle: s.steer},
	}
}

// threadID is the conversation behind the session a path names.
func threadID(in *input) string {
	if in.found && in.session.RuntimeSessionID != "" {
		return in.session.RuntimeSessionID
	}
	return in.sessionID()
}

// callThread calls a method of a conversation. A runtime that was restarted has to load it first.
func (s *server) callThread(ctx context.Context, in *input, method string, params any) (json.RawMessage, error) {
	result, err := s.call(ctx, method, params)
	if !in.found || !errors.Is(err, runtime.ErrThreadNotFound) {
		return result, err
	}
	if _, resumeErr := s.Sessions.Resume(ctx, in.sessionID(), nil); resumeErr != nil {
		return nil, err // the runtime's first words say more
	}
	return s.call(ctx, method, params)
}

type threadParams struct {
	ThreadID string `json:"threadId"`
}

// threadResult calls a method that only needs to know the conversation.
func (s *server) threadResult(method string) func(context.Context, *input) (reply, error) {
	return func(ctx context.Context, in *input) (reply, error) {
		result, err := s.callThread(ctx, in, method, threadParams{threadID(in)})
		if err != nil {
			return reply{}, err
		}
		return ok(resultBody{Status: "ok", SessionID: in.sessionID(), Result: result})
	}
}

func (s *server) forkSession(ctx context.Context, in *input) (reply, error) {
	result, err := s.callThread(ctx, in, "thread/fork", threadParams{threadID(in)})
	if err != nil {
		return reply{}, err
	}
	var forked struct {
		Thread json.RawMessage `json:"thread"`
	}
	var created struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(result, &forked); err != nil {
		return reply{}, fmt.Errorf("thread/fork answered with no thread: %w", err)
	}
	if err := json.Unmarshal(forked.Thread, &created); err != nil || created.ID == "" {
		return reply{}, fmt.Errorf("thread/fork answered with no thread id: %s", forked.Thread)
	}
	stored, err := s.Sessions.Forked(ctx, in.sessionID(), created.ID)
	if err != nil {
		return reply{}, fmt.Errorf("take in fork %s: %w", created.ID, err)
	}
	return ok(struct {
		Status string          `json:"status"`
		Source string          `json:"sourceSessionId"`
		Fork   sessionView     `json:"session"`
		Thread json.RawMessage `json:"thread"`
	}{"ok", in.sessionID(), viewSession(stored), forked.Thread})
}

// rollback drops the last turns, also from the transcript. While a turn runs it is refused (409).
func (s *server) rollback(ctx context.Context, in *input) (reply, error) {
	turns := int64(1)
	if given := in.body.Get("numTurns"); given.Defined() {
		turns = given.Int()
	}
	if !in.found {
		// What is not stored here is looked for by the runtime, whose words about it are the answer.
		if _, err := s.call(ctx, "thread/read", struct {
			threadParams
			IncludeTurns bool `json:"includeTurns"`
		}{threadParams: threadParams{threadID(in)}}); err != nil {
			return reply{}, err
		}
	}
	result, err := s.Sessions.RollBack(ctx, in.sessionID(), int(min(turns, math.MaxInt32)))
	var tooFew *runtime.TooFewTurnsError
	if errors.As(err, &tooFew) {
		return reply{}, &validationError{[]schema.Issue{schema.Custom(tooFew.Error(), "numTurns")}}
	}
	if err != nil {
		return reply{}, err
	}
	return ok(resultBody{Status: "ok", SessionID: in.sessionID(), Result: result})
}

// reviewParts are the members of a review's body that go with one target only.
var reviewParts = [...]struct{ name, target string }{{"branch", "baseBranch"}, {"sha", "commit"}, {"title", "commit"}, {"instructions", "custom"}}

func (s *server) review(ctx context.Context, in *input) (reply, error) {
	target := reviewTarget(in).Text()
	var issues []schema.Issue
	for _, part := range reviewParts {
		if in.body.Get(part.name).Defined() && part.target != target {
			issues = append(issues, schema.Custom("Goes with targetType "+part.target+" only; this review is of "+target, part.name))
		}
	}
	if issues != nil {
		return reply{}, &validationError{issues}
	}
	result, err := s.callThread(ctx, in, "review/start", reviewParams(in))
	if err != nil {
		return reply{}, err
	}
	return ok(resultBody{Status: "ok", SessionID: in.sessionID(), Result: result})
}

// defaultReview is what a client that names nothing gets reviewed, as it always was.
const defaultReview = "Review this thread's current changes."

// reviewTarget is the kind of thing to review.
func reviewTarget(in *input) schema.Value {
	if kind := in.body.Get("targetType"); kind.Defined() {
		return kind
	}
	return schema.StringValue("custom")
}

// reviewParams names what to review: a part a client left out is left empty, which the runtime refuses in its own words.
func reviewParams(in *input) schema.Value {
	text := func(name string) schema.Member {
		return schema.Member{Name: name, Value: schema.StringValue(in.body.Get(name).Text())}
	}
	kind := reviewTarget(in)
	target := []schema.Member{{Name: "type", Value: kind}}
	switch kind.Text() {
	case "baseBranch":
		target = append(target, text("branch"))
	case "commit":
		target = append(target, text("sha"), schema.Member{Name: "title", Value: in.body.Get("title")})
	case "custom":
		instructions := in.body.Get("instructions")
		if !instructions.Defined() {
			instructions = schema.StringValue(defaultReview)
		}
		target = append(target, schema.Member{Name: "instructions", Value: instructions})
	}
	return schema.ObjectValue(
		schema.Member{Name: "threadId", Value: schema.StringValue(threadID(in))},
		schema.Member{Name: "delivery", Value: in.body.Get("delivery")},
		schema.Member{Name: "target", Value: schema.ObjectValue(target...)})
}

type steerReply struct {
	Status    string      `json:"status"`
	Code      string      `json:"code,omitempty"`
	SessionID string      `json:"sessionId"`
	TurnID    string      `json:"turnId"`
	Result    steerResult `json:"result"`
}

type steerResult struct {
	ActionType string `json:"actionType"`
	Status     string `json:"status"`
	Details    any    `json:"details"`
}

// steer adds input to a running turn. Refusals have an envelope of their own, chosen by the runtime's words.
func (s *server) steer(ctx context.Context, in *input) (reply, error) {
	turnID := in.params["turnId"]
	noteTurn(ctx, turnID)
	input := schema.ObjectValue(
		schema.Member{Name: "type", Value: schema.StringValue("text")}, schema.Member{Name: "text", Value: in.body.Get("input")})
	_, err := s.callThread(ctx, in, "turn/steer", struct {
		ThreadID string         `json:"threadId"`
		Input    []schema.Value `json:"input"`
		TurnID   string         `json:"expectedTurnId"`
	}{threadID(in), []schema.Value{input}, turnID})
	answer := steerReply{Status: "ok", SessionID: in.sessionID(), TurnID: turnID, Result: steerResult{ActionType: "turn.steer", Status: "performed"}}
	type details struct {
		ThreadID string `json:"threadId"`
		TurnID   string `json:"turnId"`
		Error    string `json:"error,omitempty"`
	}
	var refusal *runtime.Error
	if err == nil {
		answer.Result.Details = details{ThreadID: threadID(in), TurnID: turnID}
		return ok(answer)
	}
	if !errors.As(err, &refusal) {
		return reply{}, err
	}
	status, code := http.StatusBadRequest, "failed"
	switch {
	case errors.Is(refusal, runtime.ErrOtherTurn):
	case errors.Is(refusal, runtime.ErrNoActiveTurn):
		status, code = http.StatusConflict, "conflict"
	case errors.Is(refusal, runtime.ErrNotFound):
		status, code = http.StatusConflict, "already_resolved"
	}
	answer.Status, answer.Code, answer.Result.Status = "error", code, code
	answer.Result.Details = details{ThreadID: threadID(in), TurnID: turnID, Error: refusal.Error()}
	return reply{status: status, body: answer}, nil
}
