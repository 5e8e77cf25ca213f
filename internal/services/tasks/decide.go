package tasks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"harness/internal/operations"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Decision is a person's answer to a tool call that needs approval.
type Decision struct {
	Allow bool
	// Attempt and InputHash identify the displayed call.
	Attempt   int
	InputHash string
	// Reason is the reason in that person's words.
	Reason string
	// Origin identifies the caller.
	Origin Origin
	// Answers are the answers to the agent's questions by id, Result the result of a client's tool; nil for other calls.
	Answers json.RawMessage
	Result  *string
}

// Decided is the effect of a decision. ReasonWaits: the agent gets the reason of a denial only with the next message.
type Decided struct{ ReasonWaits bool }

// Decide answers a tool call of a session once, whether the runtime or this server owns the tool. It returns
// ErrNotPending if no decision is pending, with a *session.SettledError if the call is already decided. *MismatchError
// means that the decision is about another attempt or input. *PartError means that the call does not accept a part of
// it. After those two, the call stays open. Other errors are those of operations.DecideApproval.
func (s *Service) Decide(ctx context.Context, sessionID, callID string, d Decision, actor string) (Decided, error) {
	if err := s.opts.Operations.Check(ctx, operations.ListRequests, sessionID); err != nil {
		return Decided{}, err
	}
	c, events, err := s.called(ctx, sessionID, callID, d)
	if err != nil {
		return Decided{}, err
	}
	if c == nil || c.Request == "" {
		return Decided{}, decidedBefore(events, callID)
	}
	if err := d.fits(c); err != nil {
		return Decided{}, err
	}
	if err := s.noteOrigin(ctx, sessionID, ownRecord{CallID: c.ID, Origin: d.Origin}, actor); err != nil {
		return Decided{}, err
	}
	settled, err := s.settle(ctx, c, d, actor)
	var before *session.SettledError
	if errors.As(err, &before) || errors.Is(err, session.ErrRequestNotFound) {
		return Decided{}, errors.Join(ErrNotPending, err)
	}
	if err != nil {
		return Decided{}, err
	}
	waits, err := s.opts.Operations.ReasonWaits(ctx, settled)
	if err != nil { // the decision remains valid
		s.opts.Logger.Warn().Err(err).Str("session", sessionID).Msg("it is not known when the reason of a denial reaches the agent")
	}
	return Decided{ReasonWaits: waits}, nil
}

// fits refuses a decision with parts that the call does not accept: *PartError.
func (d Decision) fits(c *call) error {
	switch {
	case d.Answers != nil && (c.Kind != runtime.RequestToolInput || !d.Allow):
		return &PartError{"answers", "they go with the approval of the agent's questions only"}
	case d.Result != nil && (c.Kind != runtime.RequestToolCall || !d.Allow):
		return &PartError{"result", "it goes with the approval of a tool of the client only"}
	case d.Result == nil && c.Kind == runtime.RequestToolCall && d.Allow:
		return &PartError{"result", "say what the tool of the client came to"}
	}
	return nil
}

// settle passes the decision about a call to its session.
func (s *Service) settle(ctx context.Context, c *call, d Decision, actor string) (session.Request, error) {
	decision := "decline"
	if d.Allow {
		decision = "accept"
	}
	ops := s.opts.Operations
	switch c.Kind {
	case runtime.RequestToolInput:
		return ops.DecideToolInput(ctx, c.Request,
			operations.ToolInputDecision{Decision: decision, Message: d.Reason, Answers: d.Answers}, actor)
	case runtime.RequestToolCall:
		answer := operations.ToolCallAnswer{Success: &d.Allow, Text: d.Result}
		if !d.Allow {
			answer.Refusal = cmp.Or(d.Reason, denied)
			answer.Text = &answer.Refusal
		}
		return ops.AnswerToolCall(ctx, c.Request, answer, actor)
	}
	return ops.DecideApproval(ctx, c.Request, operations.ApprovalDecision{Decision: decision, Scope: "turn",
		Message: d.Reason}, actor)
}

// askWait is how long a decision waits for the approval request of its call. On a busy machine an agent needs some
// seconds to send it.
const askWait = 30 * time.Second

// called returns an open call with the events so far, nil if there is none. Clients see a call before its approval
// request: briefly for a tool of this server, by a second for one of the runtime. A decision in between waits for the
// request. *MismatchError means that the decision is about another attempt or input.
func (s *Service) called(ctx context.Context, sessionID, callID string, d Decision) (*call, []Event, error) {
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
		switch {
		case c == nil:
			return nil, events, nil
		case c.Attempt != d.Attempt && (c.Request != "" || !c.Started):
			return nil, nil, &MismatchError{c.ID, c.Attempt, c.Hash, "attempt"}
		case c.Hash != d.InputHash && (c.Request != "" || !c.Started):
			return nil, nil, &MismatchError{c.ID, c.Attempt, c.Hash, "input_hash"}
		case c.Request != "" || c.Started:
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

// decidedBefore returns ErrNotPending, with the earlier actor if the events name one.
func decidedBefore(events []Event, callID string) error {
	for _, e := range slices.Backward(events) {
		if e.Type != CallApproved && e.Type != CallDenied {
			continue
		}
		var decided struct {
			CallID string `json:"tool_call_id"`
			Actor  string `json:"actor"`
		}
		if json.Unmarshal(e.Payload, &decided) != nil || decided.CallID != callID {
			continue
		}
		settled := session.Request{Status: session.RequestResolved, DecidedBy: decided.Actor}
		if decided.Actor == "" {
			settled.Status = session.RequestExpired // it expired without a decision
		}
		return errors.Join(ErrNotPending, &session.SettledError{Request: settled})
	}
	return ErrNotPending
}

// isGone reports whether a session was deleted or never existed.
func isGone(err error) bool {
	var gone *session.DeletedError
	return errors.As(err, &gone) || errors.Is(err, session.ErrNotFound)
}
