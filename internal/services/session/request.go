package session

import (
	"encoding/json"
	"errors"

	"harness/internal/runtime"
)

// ToolQuestion is what a person is asked about a call of a tool of this server.
type ToolQuestion struct {
	SessionID, TurnID string
	// CallID is the call's id, Tool the tool's name, Arguments what it is called with.
	CallID, Tool string
	Arguments    json.RawMessage
	// Reason says why it is asked.
	Reason string
}

// ToolAnswer is what a person decided.
type ToolAnswer struct {
	Allow bool
	// Actor is who decided, Reason why, in that person's words.
	Actor, Reason string
}

// ErrExpired says that a question ended without a decision.
var ErrExpired = errors.New("the request expired before it was decided")

// ReasonGiven reports whether what the runtime asked was denied with a reason. The result of a call of a tool of this server
// has the reason already.
func (r Request) ReasonGiven() bool {
	return r.Reply != nil && r.Reply.Message != "" && r.Reply.Decision != "accept" && r.Kind != runtime.RequestToolCall && !r.OfServer
}
