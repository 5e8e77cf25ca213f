package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

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
// with a *session.SettledError when it was decided before; *MismatchError when the decision is about something else, and
// *PartError when it has what the call has no place for: then the call goes on waiting. Others are those of
// operations.DecideApproval.
func (s *Service) Decide(ctx context.Context, sessionID, callID string, d Decision, actor string) error {
	if err := s.opts.Operations.Check(ctx, operations.ListRequests, sessionID); err != nil {
		return err
	}
	c, events, err := s.called(ctx, sessionID, callID)
	if err != nil {
		return err
	}
	switch {
	case c == nil || c.Request == "":
		return decidedBefore(events, callID)
	case c.Attempt != d.Attempt:
		return &MismatchError{c.ID, c.Attempt, c.Hash, "attempt"}
	case c.Hash != d.InputHash:
		return &MismatchError{c.ID, c.Attempt, c.Hash, "input_hash"}
	case d.Answers != nil && (c.Kind != runtime.RequestToolInput || !d.Allow):
		return &PartError{"answers", "they go with the approval of the agent's questions only"}
	case d.Result != nil && (c.Kind != runtime.RequestToolCall || !d.Allow):
		return &PartError{"result", "it goes with the approval of a tool of the client only"}
	case d.Result == nil && c.Kind == runtime.RequestToolCall && d.Allow:
		return &PartError{"result", "say what the tool of the client came to"}
	}
	decision := "decline"
	if d.Allow {
		decision = "accept"
	}
	ops := s.opts.Operations
	switch c.Kind {
	case runtime.RequestToolInput:
		_, err = ops.DecideToolInput(ctx, c.Request,
			operations.ToolInputDecision{Decision: decision, Message: d.Reason, Answers: d.Answers}, actor)
	case runtime.RequestToolCall:
		answer := operations.ToolCallAnswer{Success: &d.Allow, Text: d.Result}
		if !d.Allow {
			answer.Refusal = cmp.Or(d.Reason, denied)
			answer.Text = &answer.Refusal
		}
		_, err = ops.AnswerToolCall(ctx, c.Request, answer, actor)
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

// askWait bounds the wait for the question about a call that is told of already.
const askWait = 5 * time.Second

// called is an open call, nil when there is none, with the events so far. A call of a tool of this server is told of
// before it is asked about: who decides as soon as it hears of the call is not told that nothing is asked.
func (s *Service) called(ctx context.Context, sessionID, callID string) (*call, []Event, error) {
	news, cancel := s.News(sessionID)
	defer cancel()
	late := time.NewTimer(askWait)
	defer late.Stop()
	for {
		log, events, err := s.latest(ctx, sessionID)
		if err != nil {
			return nil, nil, err
		}
		c := log.find(callID)
		if c == nil || c.Request != "" || !c.Owned || c.Started {
			return c, events, nil
		}
		select {
		case <-news:
		case <-late.C:
			return c, events, nil
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// decidedBefore is ErrNotPending, with who decided the call as far as it is told of.
func decidedBefore(events []Event, callID string) error {
	for _, e := range slices.Backward(events) {
		if e.Type != CallApproved && e.Type != CallDenied {
			continue
		}
		var told struct {
			CallID string `json:"tool_call_id"`
			Actor  string `json:"actor"`
		}
		if json.Unmarshal(e.Payload, &told) != nil || told.CallID != callID {
			continue
		}
		settled := session.Request{Status: session.RequestResolved, DecidedBy: told.Actor}
		if told.Actor == "" {
			settled.Status = session.RequestExpired // nobody did
		}
		return errors.Join(ErrNotPending, &session.SettledError{Request: settled})
	}
	return ErrNotPending
}

// isGone tells that a session is not there, or not any more.
func isGone(err error) bool {
	var gone *session.DeletedError
	return errors.As(err, &gone) || errors.Is(err, session.ErrNotFound)
}
