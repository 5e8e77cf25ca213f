package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"harness/api/rpc/wire"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// Codes of errors beside those of JSON-RPC 2.0.
const (
	codeNotConfigured   = -32004 // cdev's word for a runtime that is away, for its old clients
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

// failureData is the data of an internal error: what it is, and of which runtime.
type failureData struct {
	Code         string `json:"code"`
	AgentType    string `json:"agent_type,omitempty"`
	Method       string `json:"method"`
	Status       string `json:"status,omitempty"`
	Reason       string `json:"reason,omitempty"`
	RetryAfterMS int64  `json:"retry_after_ms,omitempty"`
	Retryable    bool   `json:"retryable"`
}

// sessionData names the session an error is about.
type sessionData struct {
	SessionID string       `json:"session_id"`
	DeletedAt string       `json:"deleted_at,omitempty"`
	Details   *lookDetails `json:"details,omitempty"`
	// AgentType, Method and Supported are those of a runtime's method; AgentType is "" when the client names none.
	AgentType string   `json:"agent_type,omitempty"`
	Method    string   `json:"method,omitempty"`
	Supported []string `json:"supported_agent_types,omitempty"`
}

// lookDetails are the runtimes that may have an unknown session and could not be asked.
type lookDetails struct {
	NotAsked []session.NotAsked `json:"not_asked"`
}

func invalidParams(field, reason, message string) *wire.Error {
	return &wire.Error{Code: wire.CodeInvalidParams, Message: message, Data: fieldData{field, reason}}
}

// failure is an internal error with its code.
func failure(code, method, message string, retryable bool) *wire.Error {
	return &wire.Error{Code: wire.CodeInternal, Message: message,
		Data: failureData{Code: code, Method: method, Retryable: retryable}}
}

// unknownAgent refuses a runtime that is none of the server's.
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
		data.Details = &lookDetails{unknown.NotAsked}
	}
	return &wire.Error{Code: codeSessionNotFound, Message: "Session not found", Data: data}
}

// away refuses a call to a runtime that does nothing now.
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

// failed words an error for the client. What is ours to mend is logged, and the client is told that much.
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
	for _, row := range []func(error) *wire.Error{c.requestFailure, c.sessionFailure, c.runtimeFailure, c.storeFailure} {
		if worded := row(err); worded != nil {
			return worded
		}
	}
	if ctx.Err() == nil {
		telemetry.Log(ctx).Error().Err(err).Str("method", c.method.name).Msg("JSON-RPC request failed")
	}
	return failure(failedInternal, c.method.name, "Internal error", false)
}

// requestFailure is about what the client asked for.
func (c *call) requestFailure(err error) *wire.Error {
	var (
		worded  *wire.Error
		invalid *operations.InvalidError
		control *runtime.ControlError
		reply   *runtime.ReplyError
		unknown *session.UnknownRuntimeError
		unable  *runtime.UnsupportedError
		refusal *runtime.Error
		limited *operations.LimitedError
		folder  *session.FolderError
		working *session.BackgroundError
	)
	switch {
	case errors.As(err, &folder) && folder.SessionID == "":
		return &wire.Error{Code: wire.CodeInvalidParams, Message: folder.Error(), Data: struct {
			fieldData
			Code string `json:"code"`
		}{fieldData{"cwd", folder.Reason}, folder.Code()}}
	case errors.As(err, &folder):
		return failure(folder.Code(), c.method.name, folder.Error(), false)
	case errors.As(err, &limited):
		return &wire.Error{Code: codeForbidden, Message: "Forbidden: " + limited.Error()}
	case errors.As(err, &worded):
		return worded
	case errors.As(err, &invalid) && len(invalid.Problems) > 0:
		first := invalid.Problems[0]
		return invalidParams(first.Field, first.Message, first.Field+": "+first.Message)
	case errors.As(err, &control):
		return invalidParams(control.Field, control.Error(), control.Error())
	case errors.As(err, &reply):
		return invalidParams(reply.Field, reply.Message, reply.Message)
	case errors.As(err, &unknown):
		return unknownAgent(unknown.Runtime, c.method.name, c.server.agents())
	case errors.Is(err, session.ErrBadCursor), errors.Is(err, transcript.ErrBadCursor):
		return invalidParams("cursor", "not one this server gave out", "The cursor is not one this server gave out")
	case errors.As(err, &working):
		return failure("background_work", c.method.name, working.Error(), false)
	case errors.Is(err, runtime.ErrNoBackground):
		return failure("background_not_found", c.method.name, err.Error(), false)
	case errors.As(err, &unable):
		return failure("unsupported_by_runtime", c.method.name, unable.Error(), false)
	case errors.As(err, &refusal):
		return failure("refused_by_runtime", c.method.name, refusal.Error(), false)
	case errors.Is(err, session.ErrRequestNotFound):
		return failure(failedNoRequest, c.method.name, "No such request is pending", false)
	}
	return nil
}

// sessionFailure is about sessions and workspaces.
func (c *call) sessionFailure(err error) *wire.Error {
	var (
		deleted   *session.DeletedError
		elsewhere *session.NotOwnerError
		pinned    *session.PinnedError
		open      *session.LeftOpenError
		system    *operations.SystemSessionError
		duplicate *session.DuplicateNameError
		filled    *session.ProjectNotEmptyError
	)
	switch {
	case errors.As(err, &deleted):
		return &wire.Error{Code: codeSessionDeleted, Message: "Session was permanently deleted",
			Data: sessionData{SessionID: deleted.SessionID, DeletedAt: javascript.ISOTime(deleted.DeletedAt)}}
	case errors.Is(err, session.ErrNotFound):
		return sessionNotFound(c.text("session_id"), err)
	case errors.Is(err, session.ErrNotMaterialized):
		return failure("not_materialized", c.method.name, "Nothing was said in the session yet", false)
	case errors.As(err, &elsewhere):
		return failure("not_owner", c.method.name, elsewhere.Error(), false)
	case errors.As(err, &open):
		return failure("owner_unreachable", c.method.name, open.Error(), true)
	case errors.As(err, &pinned):
		return failure(pinned.Code(), c.method.name, pinned.Error(), false)
	case errors.As(err, &system):
		return failure("system_session", c.method.name, "The session belongs to a worker of the server", false)
	case errors.Is(err, session.ErrProjectNotFound):
		return failure(failedWorkspace, c.method.name, "Workspace not found", false)
	case errors.As(err, &duplicate):
		return failure("workspace_exists", c.method.name, "A workspace has this name", false)
	case errors.As(err, &filled):
		return failure("workspace_not_empty", c.method.name, fmt.Sprintf("The workspace has %d sessions; delete them first",
			filled.SessionCount), false)
	}
	return nil
}

// runtimeFailure is about a runtime that does nothing now.
func (c *call) runtimeFailure(err error) *wire.Error {
	var (
		disabled *operations.DisabledRuntimeError
		limit    *session.LimitError
	)
	switch {
	case errors.As(err, &limit):
		return failure("limit_reached", c.method.name, limit.Error(), true)
	case errors.As(err, &disabled):
		return c.away(failedDisabled, string(operations.RuntimeDisabled), "switched off by the operator", false)
	case errors.Is(err, runtime.ErrUnavailable):
		return c.away(failedUnavailable, string(runtime.StateUnavailable),
			"the runtime is down; it is started again by itself", true)
	case errors.Is(err, runtime.ErrTurnActive):
		return failure("turn_active", c.method.name, "A turn is running", true)
	case errors.Is(err, runtime.ErrTimeout):
		return failure("timeout", c.method.name, "The runtime or the store timed out; what was asked may still take effect",
			false)
	case runtime.Refused(err):
		return failure("refused_by_runtime", c.method.name, err.Error(), false)
	}
	return nil
}

// storeFailure is about the store and the server.
func (c *call) storeFailure(err error) *wire.Error {
	var outage *journal.OutageError
	switch {
	case errors.Is(err, journal.ErrStopped):
		return failure(failedStopping, c.method.name, "The server is shutting down", true)
	case errors.As(err, &outage), database.Refused(err), database.Transient(err):
		return failure("store_unavailable", c.method.name, "The store does not take this now; send it again later", true)
	case errors.Is(err, context.DeadlineExceeded):
		return failure("timeout", c.method.name, "It took too long", true)
	}
	return nil
}

func forbidden(method string, needs role) *wire.Error {
	return &wire.Error{Code: codeForbidden, Message: "Forbidden: " + method + " needs the role " + string(needs),
		Data: struct {
			RequiredRole string `json:"required_role"`
		}{string(needs)}}
}

// rateLimited refuses a message above the rate.
func rateLimited(wait time.Duration) *wire.Error {
	return &wire.Error{Code: wire.CodeInternal, Message: "Too many messages", Data: failureData{
		Code: failedRate, RetryAfterMS: max(1, wait.Milliseconds()), Retryable: true,
	}}
}
