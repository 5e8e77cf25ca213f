package session

import (
	"encoding/json"
	"errors"

	"harness/internal/runtime"
)

// ToolQuestion is a question to a person about a call of a tool of this server.
type ToolQuestion struct {
	SessionID, TurnID string
	// CallID is the call's id, Tool the tool's name, Arguments the call's arguments.
	CallID, Tool string
	Arguments    json.RawMessage
	// Reason is the reason for the question.
	Reason string
}

// ToolAnswer is a person's decision.
type ToolAnswer struct {
	Allow bool
	// Actor is the person, Reason that person's reason.
	Actor, Reason string
}

// ErrExpired means that a question ended without a decision.
var ErrExpired = errors.New("the request expired before it was decided")

// ReasonGiven reports whether a request of the runtime was denied with a reason. The result of a call of a tool of this
// server has the reason already.
func (r Request) ReasonGiven() bool {
	return r.Reply != nil && r.Reply.Message != "" && r.Reply.Decision != "accept" && r.Kind != runtime.RequestToolCall && !r.OfServer
}
