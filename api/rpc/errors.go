package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"harness/api/door"
	"harness/api/rpc/wire"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
)

// Codes of errors in addition to those of JSON-RPC 2.0.
const (
	codeNotConfigured   = -32004 // cdev's name for an unavailable runtime, for its old clients
	codeSessionNotFound = -32010
	codeSessionDeleted  = -32012
	codeForbidden       = -32013
)

// Values of failureData.Code.
const (
	failedUnavailable = "runtime_unavailable"
	failedDisabled    = "runtime_disabled"
	failedNoRequest   = "no_pending_request"
	failedBusy        = "busy"
	failedRate        = "rate_limited"
	failedStopping    = "shutting_down"
	failedWorkspace   = "workspace_not_found"
	failedInternal    = "internal"
)

// fieldData is the data of invalid params.
type fieldData struct {
	Field  string `json:"field"`
	Reason string `json:"reason"`
}

// failureData is the data of an internal error: its code, and its runtime.
type failureData struct {
	Code         string `json:"code"`
	AgentType    string `json:"agent_type,omitempty"`
	Method       string `json:"method"`
	Status       string `json:"status,omitempty"`
	Reason       string `json:"reason,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	Retryable    bool   `json:"retryable"`
}

// sessionData names the session of an error.
type sessionData struct {
	SessionID string       `json:"session_id"`
	DeletedAt string       `json:"deleted_at,omitempty"`
	Details   *findDetails `json:"details,omitempty"`
	// AgentType, Method and Supported are for methods of a runtime. AgentType is "" when the client names none.
	AgentType string   `json:"agent_type,omitempty"`
	Method    string   `json:"method,omitempty"`
	Supported []string `json:"supported_agent_types,omitempty"`
}

// findDetails lists the runtimes that may have an unknown session and could not be queried.
type findDetails struct {
	NotAsked []session.NotAsked `json:"not_asked"`
}

func invalidParams(field, reason, message string) *wire.Error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: message, Data: fieldData{field, reason}}
}

// failure returns an internal error with its code.
func failure(code, method, message string, retryable bool) *wire.Error {
	return &wire.Error{Code: wire.CodeInternal, Message: message,
		Data: failureData{Code: code, Method: method, Retryable: retryable}}
}

// unknownAgent refuses a runtime that this server does not have.
func unknownAgent(agent, method string, known []string) *wire.Error {
	ids := slices.Sorted(slices.Values(known))
	return &wire.Error{Code: wire.CodeInvalidParams, Message: fmt.Sprintf("Unknown agent_type: this server has %v", ids),
		Data: struct {
			AgentType string   `json:"agent_type"`
			Method    string   `json:"method"`
			Supported []string `json:"supported_agent_types"`
		}{agent, method, ids}}
}

func sessionNotFound(id string, err error) *wire.Error {
	data := sessionData{SessionID: id}
	var unknown *session.UnknownError
	if errors.As(err, &unknown) {
		data.Details = &findDetails{unknown.NotAsked}
	}
	return &wire.Error{Code: codeSessionNotFound, Message: "Session not found", Data: data}
}

// away refuses a call to a runtime that is currently unavailable.
func (c *call) away(code, status, reason string, retryable bool) *wire.Error {
	if code == failedUnavailable && c.peer.legacy() {
		return &wire.Error{Code: codeNotConfigured, Message: "The runtime is not available", Data: struct {
			AgentType string `json:"agent_type"`
			Method    string `json:"method"`
		}{c.agent, c.method.name}}
	}
	message := "The runtime is not available"
	if code == failedDisabled {
		message = "The runtime is disabled"
	}
	return &wire.Error{Code: wire.CodeInternal, Message: message, Data: failureData{
		Code: code, AgentType: c.agent, Method: c.method.name, Status: status, Reason: reason, Retryable: retryable,
	}}
}

// failed converts an error into a response. It logs a server fault, and the client gets no other details of it.
func (c *call) failed(ctx context.Context, err error) *wire.Error {
	worded := c.worded(ctx, err)
	if c.method.scope != scopeRuntime {
		return worded
	}
	switch data := worded.Data.(type) {
	case failureData:
		data.AgentType = cmp.Or(data.AgentType, c.agent)
		worded.Data = data
	case sessionData:
		data.AgentType, data.Method = c.agent, c.method.name
		data.Supported = slices.Sorted(slices.Values(c.server.agents()))
		worded.Data = data
	}
	return worded
}

func (c *call) worded(ctx context.Context, err error) *wire.Error {
	var own *wire.Error
	if errors.As(err, &own) {
		return own
	}
	f := operations.Classify(err)
	if f.Native != nil {
		return c.refused(f.Native)
	}
	if answer, known := answers[f.Code]; known {
		if worded := answer(c, f); worded != nil {
			return worded
		}
	}
	if ctx.Err() == nil {
		telemetry.Log(ctx).Error().Err(err).Str("method", c.method.name).Msg("JSON-RPC request failed")
	}
	return failure(failedInternal, c.method.name, "Internal error", false)
}

func forbidden(method string, needs role) *wire.Error {
	return &wire.Error{Code: codeForbidden, Message: "Forbidden: " + method + " needs the role " + string(needs),
		Data: struct {
			RequiredRole string `json:"required_role"`
		}{string(needs)}}
}

// refusal is the error of a message that is not carried out.
func refusal(reason door.Refusal, wait time.Duration) *wire.Error {
	switch reason {
	case door.TooOften:
		return &wire.Error{Code: wire.CodeInternal, Message: "Too many messages", Data: failureData{
			Code: failedRate, RetryAfterMS: max(1, wait.Milliseconds()), Retryable: true,
		}}
	case door.TooMany:
		return failure(failedBusy, "", "Too many requests of this socket are in flight", true)
	}
	return failure(failedStopping, "", "The server is shutting down", true)
}
