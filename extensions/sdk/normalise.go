package sdk

import (
	"bytes"
	"encoding/json"
)

const kindActionRequest = "action_request"

// fields reads a JSON object; any other JSON has no fields.
func fields(raw json.RawMessage) map[string]json.RawMessage {
	if trimmed := bytes.TrimLeft(raw, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil
	}
	var out map[string]json.RawMessage
	if json.Unmarshal(raw, &out) != nil {
		return nil
	}
	return out
}

// text reads a JSON string; ok is false for any other JSON.
func text(raw json.RawMessage) (value string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &value) != nil {
		return "", false
	}
	return value, true
}

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{'
}

// AsActionRequest reads a handler's result as an action request; ok is false if it is not one.
func AsActionRequest(raw json.RawMessage) (request ActionRequest, ok bool) {
	members := fields(raw)
	if kind, _ := text(members["kind"]); kind != kindActionRequest {
		return ActionRequest{}, false
	}
	actionType, isText := text(members["actionType"])
	if !isText || !isObject(members["payload"]) {
		return ActionRequest{}, false
	}
	request = ActionRequest{Kind: kindActionRequest, ActionType: actionType, Payload: members["payload"]}
	request.RequestID, _ = text(members["requestId"])
	request.IdempotencyKey, _ = text(members["idempotencyKey"])
	return request, true
}

// ToAgentEventEmitResult converts a handler's result into one of the four kinds. raw is JSON; nil and null mean no
// result. The caller supplies the module's name, so that a handler cannot use another module's name.
func ToAgentEventEmitResult(moduleName, eventType string, raw json.RawMessage) EmitResult {
	nothing := EmitResult{Kind: HandlerResult, ModuleName: moduleName}
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		return nothing
	}
	members := fields(raw)
	kind, _ := text(members["kind"])
	if kind == string(HandlerError) {
		message, isText := text(members["error"])
		if isText {
			if named, ok := text(members["eventType"]); ok {
				eventType = named
			}
			return EmitResult{Kind: HandlerError, ModuleName: moduleName, EventType: eventType, Error: message}
		}
	}
	if result, ok := enqueueResult(moduleName, members); ok {
		return result
	}
	if result, ok := actionResult(moduleName, members); ok {
		return result
	}
	if kind == string(HandlerResult) {
		if isObject(members["details"]) {
			nothing.Details = members["details"]
		}
		return nothing
	}
	if !json.Valid(raw) {
		return nothing
	}
	nothing.Details = append(append(json.RawMessage(`{"value":`), raw...), '}')
	return nothing
}

func enqueueResult(moduleName string, members map[string]json.RawMessage) (EmitResult, bool) {
	status, _ := text(members["status"])
	if status != Enqueued && status != AlreadyQueued {
		return EmitResult{}, false
	}
	job := fields(members["job"])
	id, hasID := text(job["id"])
	jobType, hasType := text(job["type"])
	project, hasProject := text(job["projectId"])
	if !hasID || !hasType || !hasProject {
		return EmitResult{}, false
	}
	state, _ := text(job["state"])
	return EmitResult{Kind: EnqueueResult, ModuleName: moduleName, Status: status,
		Job: &Job{ID: id, Type: jobType, ProjectID: project, State: state}}, true
}

func actionResult(moduleName string, members map[string]json.RawMessage) (EmitResult, bool) {
	actionType, isText := text(members["actionType"])
	status, _ := text(members["status"])
	if !isText || !ActionStatus(status).Valid() {
		return EmitResult{}, false
	}
	result := EmitResult{Kind: ActionResult, ModuleName: moduleName, ActionType: actionType, Status: status}
	result.RequestID, _ = text(members["requestId"])
	result.IdempotencyKey, _ = text(members["idempotencyKey"])
	if isObject(members["details"]) {
		result.Details = members["details"]
	}
	return result, true
}

// ToAgentEventHandlerError makes a result of a handler's error.
func ToAgentEventHandlerError(moduleName, eventType string, err error) EmitResult {
	message := "unknown error"
	if err != nil {
		message = err.Error()
	}
	return EmitResult{Kind: HandlerError, ModuleName: moduleName, EventType: eventType, Error: message}
}
