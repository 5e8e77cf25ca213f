package events

import (
	"encoding/json"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/stream"
)

// state is the payload of Status.
type state struct {
	State string `json:"state"`
	Error string `json:"error,omitempty"`
}

// notified adds the notifications for a runtime's notification. messages is the number of messages of a finished
// turn.
func (d *derivation) notified(method string, params json.RawMessage, messages *int64) {
	var named struct {
		Item json.RawMessage `json:"item"`
		Turn json.RawMessage `json:"turn"`
	}
	_ = json.Unmarshal(params, &named) // for another type, both are missing
	own := Subject{Workspace: d.place.Workspace}
	switch method {
	case wire.MethodItemCompleted:
		for _, message := range Messages(named.Item) {
			d.add(Message, message, Subject{})
		}
	case wire.MethodTurnStarted:
		d.add(Status, state{State: "running"}, own)
	case wire.MethodTurnCompleted:
		turn := wire.ReadTurn(named.Turn)
		ended := state{State: "idle"}
		if turn.Status == runtime.TurnFailed {
			ended = state{State: "error", Error: turn.Error}
		}
		d.add(Status, ended, own)
		d.add(ReadComplete, struct {
			TurnID   string `json:"turn_id"`
			Messages *int64 `json:"messages_emitted,omitempty"` // nil for turns that ended before the server counted messages
		}{turn.ID, messages}, Subject{})
	}
}

// requested adds the notification for a runtime's request.
func (d *derivation) requested(ref stream.RequestRef, method string, params json.RawMessage) {
	asked, ok := wire.Requested(method, params)
	if !ok {
		return
	}
	own := Subject{Workspace: d.place.Workspace}
	switch asked.Kind {
	case runtime.RequestApproval:
		d.add(Permission, PermissionOf(ref.ID, ref.Summary, asked.Asked), Subject{})
		d.add(Status, state{State: "waiting"}, own)
	case runtime.RequestToolInput:
		d.add(Waiting, struct {
			ToolUseID string          `json:"tool_use_id"`
			ToolName  string          `json:"tool_name"`
			Input     json.RawMessage `json:"input"`
		}{ref.ID, "AskUserQuestion", questions(ref, params)}, Subject{})
		d.add(Status, state{State: "waiting"}, own)
	}
}

// questions returns the questions to a person, in the form of the request.
func questions(ref stream.RequestRef, params json.RawMessage) json.RawMessage {
	asked := ref.Questions
	if asked == nil {
		var given struct {
			Questions json.RawMessage `json:"questions"`
		}
		_ = json.Unmarshal(params, &given) // another type: none
		asked = given.Questions
	}
	return object("questions", asked)
}

// resolved reports how a request ended.
func (d *derivation) resolved() {
	var payload struct {
		ApprovalID string `json:"approvalId"`
		RequestID  string `json:"requestId"`
		Status     string `json:"status"`
		Decision   string `json:"decision"`
	}
	if json.Unmarshal(d.record.Payload, &payload) != nil {
		return
	}
	id, by := payload.ApprovalID+payload.RequestID, d.record.Actor
	if by == "" {
		by = payload.Status
	}
	d.add(PermissionResolved, struct {
		ToolUseID  string `json:"tool_use_id"`
		ResolvedBy string `json:"resolved_by"`
		Decision   string `json:"decision"`
		Status     string `json:"status"`
	}{id, by, allowed(payload.Decision), payload.Status}, Subject{})
}

// allowed converts a decision into cdev's terms.
func allowed(decision string) string {
	switch decision {
	case "accept":
		return "allow"
	case "":
		return ""
	}
	return "deny"
}
