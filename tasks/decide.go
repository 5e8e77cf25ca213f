package tasks

import (
	"context"
	"encoding/json"
	"errors"

	"harness/operations"
	"harness/runtime"
	"harness/session"
)

// Decision is a person's answer to a tool call that asks.
type Decision struct {
	Allow bool
	// Attempt and InputHash are those of the call that was looked at.
	Attempt   int
	InputHash string
	// Reason is why, in that person's words.
	Reason string
	// Answers are those to the agent's questions by their ids, Result what a tool of the client came to; nil for calls that
	// take none.
	Answers json.RawMessage
	Result  *string
}

// Decide answers a tool call of a session, whoever owns the tool, once. ErrNotPending when nothing is asked about it,
// *MismatchError when the decision is about something else: then the call goes on waiting. Others are those of
// operations.DecideApproval.
func (s *Service) Decide(ctx context.Context, sessionID, callID string, d Decision, actor string) error {
	if err := s.opts.Operations.Check(ctx, operations.ListRequests, sessionID); err != nil {
		return err
	}
	log, _, err := s.latest(ctx, sessionID)
	if err != nil {
		return err
	}
	c := log.find(callID)
	switch {
	case c == nil || c.Request == "":
		return ErrNotPending
	case c.Attempt != d.Attempt:
		return &MismatchError{c.ID, c.Attempt, c.Hash, "attempt"}
	case c.Hash != d.InputHash:
		return &MismatchError{c.ID, c.Attempt, c.Hash, "input_hash"}
	}
	decision := "decline"
	if d.Allow {
		decision = "accept"
	}
	ops := s.opts.Operations
	switch c.Kind {
	case runtime.RequestToolInput:
		in := operations.ToolInputDecision{Decision: decision, Message: d.Reason}
		if d.Allow {
			in.Answers = d.Answers
		}
		_, err = ops.DecideToolInput(ctx, c.Request, in, actor)
	case runtime.RequestToolCall:
		result := d.Reason
		if d.Result != nil {
			result = *d.Result
		}
		_, err = ops.AnswerToolCall(ctx, c.Request, operations.ToolCallAnswer{Success: &d.Allow, Text: &result}, actor)
	default:
		_, err = ops.DecideApproval(ctx, c.Request, operations.ApprovalDecision{Decision: decision, Scope: "turn",
			Message: d.Reason}, actor)
	}
	var settled *session.SettledError
	if errors.As(err, &settled) || errors.Is(err, session.ErrRequestNotFound) {
		return errors.Join(ErrNotPending, err)
	}
	return err
}

// isGone tells that a session is not there, or not any more.
func isGone(err error) bool {
	var gone *session.DeletedError
	return errors.As(err, &gone) || errors.Is(err, session.ErrNotFound)
}
