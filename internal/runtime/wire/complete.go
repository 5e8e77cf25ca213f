package wire

import (
	"bytes"
	"encoding/json"
	"strings"

	"harness/internal/runtime/jsonobject"
)

// action is a command as codex describes it; this server parses none of them.
type action struct {
	Type    string `json:"type"`
	Command string `json:"command"`
}

// actionsOf describes a command. Of a long one it has the beginning, because the item has the whole command beside it.
func actionsOf(command string) []action {
	if len(command) > maxSummary {
		command = strings.ToValidUTF8(command[:maxSummary], "") + "…"
	}
	return []action{{"unknown", command}}
}

// Complete returns an item as codex's clients know it. They refuse any other, and the whole page of a history with it.
// A command that an earlier version stored gets its actions, and a declined tool call has failed. Any other item stays
// as it is, byte for byte.
func Complete(item json.RawMessage) json.RawMessage {
	given := Members(item, "type", "commandActions", "command", "status")
	switch kind, actions, command, status := Text(given[0]), given[1], given[2], Text(given[3]); {
	case kind == ItemCommand && Known(actions) == nil:
		return with(item, "commandActions", encode(actionsOf(commandText(command).text())))
	case (kind == ItemToolCall || kind == ItemClientTool) && status == StatusDeclined:
		return with(item, "status", encode(StatusFailed))
	}
	return item
}

// CompleteNotification returns the parameters of a notification with its item as Complete returns it.
func CompleteNotification(method string, params json.RawMessage) json.RawMessage {
	if method != MethodItemStarted && method != MethodItemCompleted {
		return params
	}
	item := Members(params, "item")[0]
	complete := Complete(item)
	if bytes.Equal(complete, item) {
		return params
	}
	return with(params, "item", complete)
}

// WithClientID adds the client's id of a message to its item. codex's TUI finds a message by this id after a lost
// connection. An item with an id stays as it is, as does any item when there is no id.
func WithClientID(item json.RawMessage, clientID string) json.RawMessage {
	given := Members(item, "type", "clientId")
	if clientID == "" || Text(given[0]) != ItemUserMessage || Known(given[1]) != nil {
		return item
	}
	return with(item, "clientId", encode(clientID))
}

// CompleteRequest adds the members that the parameters of a request lack if an earlier version stored it. createdAt is
// the time of the request in ms. Complete parameters stay as they are, byte for byte.
func CompleteRequest(method string, params json.RawMessage, createdAt int64) json.RawMessage {
	var name string
	var value json.RawMessage
	switch method {
	case MethodApproveCommand, MethodApproveFileChange, MethodApprovePermissions, MethodApproveTool:
		name, value = "startedAtMs", encode(createdAt)
	case MethodAskUser:
		name, value = "isBlocking", json.RawMessage("true")
	default:
		return params
	}
	if Known(Members(params, name)[0]) != nil {
		return params
	}
	return with(params, name, value)
}

// with returns an object with one more member; JSON that is no object stays as it is.
func with(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	parsed := jsonobject.Parse(object)
	if parsed == nil {
		return object
	}
	return parsed.Set(name, value).Encode()
}

// Pending is a request of a session for a client of codex.
type Pending struct {
	Method string
	Params json.RawMessage
	// CreatedAt is the time of the request in ms, Cwd the folder of its session.
	CreatedAt int64
	Cwd       string
	// ForSession means that an approval can last for the session.
	ForSession bool
}

// Native returns the request in the words of codex alone, with everything that its clients need. The approval of a tool
// becomes that of a command, since codex has no other. Its requests pass byte for byte if they have all of that.
func (p Pending) Native() (method string, params json.RawMessage) {
	method, params = p.Method, CompleteRequest(p.Method, p.Params, p.CreatedAt)
	if method == MethodApproveTool {
		method, params = MethodApproveCommand, p.asCommand(params)
	}
	if method != MethodApproveCommand && method != MethodApproveFileChange || Offered(params) != nil {
		return method, params
	}
	decisions := []string{"accept", "acceptForSession", "decline", "cancel"}
	if !p.ForSession {
		decisions = []string{"accept", "decline", "cancel"}
	}
	return method, with(params, "availableDecisions", encode(decisions))
}

// asCommand returns the approval of a tool as that of a command: its name and its arguments.
func (p Pending) asCommand(params json.RawMessage) json.RawMessage {
	given := Members(params, "threadId", "turnId", "itemId", "startedAtMs", "tool", "arguments", "reason", "availableDecisions")
	command := Text(given[4])
	if arguments := Known(given[5]); arguments != nil {
		command += " " + string(arguments)
	}
	return encode(struct {
		Kind      string          `json:"kind"`
		ThreadID  json.RawMessage `json:"threadId"`
		TurnID    json.RawMessage `json:"turnId"`
		ItemID    json.RawMessage `json:"itemId"`
		StartedAt json.RawMessage `json:"startedAtMs"`
		Reason    json.RawMessage `json:"reason"`
		Command   string          `json:"command"`
		Cwd       string          `json:"cwd"`
		Decisions json.RawMessage `json:"availableDecisions,omitempty"`
	}{"command", given[0], given[1], given[2], given[3], given[6], command, p.Cwd, given[7]})
}
