package session

import (
	"encoding/json"
	"errors"

	"harness/internal/runtime"
)

// ToolQuestion asks a user about a call to one of this server's tools.
type ToolQuestion struct {
	SessionID, TurnID string
	// CallID is the call's id, Tool the tool's name, Arguments the call's arguments.
	CallID, Tool string
	Arguments    json.RawMessage
	// Reason is why the server asks.
	Reason string
}

// ToolAnswer is a user's decision.
type ToolAnswer struct {
	Allow bool
	// Actor is the user; Reason is the reason the user gave.
	Actor, Reason string
}

// ErrExpired means that a question expired without a decision.
var ErrExpired = errors.New("the request expired before it was decided")

// ReasonGiven reports whether a request of the runtime was denied with a reason. For this server's own tools, the
// result of the call already contains the reason.
func (r Request) ReasonGiven() bool {
	return r.Reply != nil && r.Reply.Message != "" && r.Reply.Decision != "accept" && r.Kind != runtime.RequestToolCall && !r.OfServer
}
