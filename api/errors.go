package api

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"harness/api/calls"
	"harness/api/compat"
	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/queue"
	"harness/transcript"
)

// failure is how an error looks on the wire.
type failure struct {
	status int
	body   any
	// retry tells the client that the same request may be sent again later.
	retry bool
	// retryAfter is in how many seconds; "" is as usual.
	retryAfter string
	// opaque failures are our fault: the error is logged, the client learns nothing of it.
	opaque bool
}

// writeError answers with the error's row of the table.
func (s *server) writeError(ctx context.Context, w http.ResponseWriter, rt *rest.Route, in *rest.Input, err error) {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		noteError(ctx, err)
		w.WriteHeader(statusClientGone)
		return
	}
	f := failureOf(err, rt, in)
	if f.opaque {
		telemetry.Log(ctx).Error().Err(err).Str("route", rt.Method+" "+rt.Path).Msg("request failed")
	}
	noteError(ctx, err)
	calls.Failed(ctx, f.code())
	if f.status == http.StatusRequestEntityTooLarge || f.status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	if f.retry {
		w.Header().Set("Retry-After", cmp.Or(f.retryAfter, retryAfter))
	}
	acceptable(w, f.status)
	s.writeJSON(ctx, w, f.status, f.body)
}

// retryAfter is how soon a client may ask again what the store refused, in seconds.
const retryAfter = "5"

// statusClientGone is nginx's status for a client that hung up; only the access log sees it.
const statusClientGone = 499

type errorBody struct {
	Status  string         `json:"status"`
	Code    string         `json:"code"`
	Message string         `json:"message"`
	Issues  []schema.Issue `json:"issues,omitempty"`
	Details any            `json:"details,omitempty"`
}

func problem(status int, code, message string) failure {
	return failure{status: status, body: errorBody{Status: "error", Code: code, Message: message}}
}

// failureOf is the error table of all operations: the first row that knows the error decides.
func failureOf(err error, rt *rest.Route, in *rest.Input) failure {
	for _, row := range []func(error, *rest.Route, *rest.Input) (failure, bool){
		requestFailures, longFailures, ownerFailures, idempotencyFailures, loginFailures, tokenFailures, pushFailures, readFailures,
		storeFailures, sessionFailures, projectFailures, waitingFailures, jobFailures, suggestionFailures, turnFailures,
		interactiveFailures, runtimeFailures,
	} {
		if f, known := row(err, rt, in); known {
			return f
		}
	}
	if database.Transient(err) {
		return unreadable(err) // nobody else's connection broke: those of runtimes are known by now
	}
	return internalFailure()
}

// unreadable says that the store could not be asked.
func unreadable(err error) failure {
	f := problem(http.StatusServiceUnavailable, "store_unavailable", "the store cannot be read: "+database.Reason(err)+
		"; send the request again later")
	f.retry = true
	return f
}

func internalFailure() failure {
	f := problem(http.StatusInternalServerError, "internal_error", "internal server error")
	f.opaque = true
	return f
}

// requestFailures are requests that are wrong in themselves.
func requestFailures(err error, _ *rest.Route, in *rest.Input) (failure, bool) {
	var request *requestError
	if errors.As(err, &request) {
		return problem(request.status, "request_failed", request.message), true
	}
	var unrecorded *operations.UnrecordedError
	if errors.As(err, &unrecorded) {
		return internalFailure(), true // whatever kept the record from being stored
	}
	var forbidden *agentError
	if errors.As(err, &forbidden) {
		return problem(http.StatusForbidden, "agent_forbidden", forbidden.Error()), true
	}
	var limited *operations.LimitedError
	if errors.As(err, &limited) {
		return problem(http.StatusForbidden, "project_limited", limited.Error()), true
	}
	var role *roleError
	if errors.As(err, &role) {
		return problem(http.StatusForbidden, "insufficient_role", role.Error()), true
	}
	var validation *rest.ValidationError
	if errors.As(err, &validation) {
		return invalid(validation.Issues...), true
	}
	var refusedParts *operations.InvalidError
	if errors.As(err, &refusedParts) {
		return invalid(fields(refusedParts)...), true
	}
	var parts *operations.PartsError
	if errors.As(err, &parts) {
		return problem(http.StatusBadRequest, "invalid_request", parts.Message), true
	}
	var refused *runtime.ReplyError
	if errors.As(err, &refused) {
		return invalid(schema.Custom(refused.Message, refused.Field)), true
	}
	var disabled *operations.DisabledRuntimeError
	if errors.As(err, &disabled) {
		return problem(http.StatusConflict, "runtime_disabled", disabled.Error()), true
	}
	var absent *missingRuntimeError
	if errors.As(err, &absent) {
		return problem(http.StatusNotFound, "unknown_runtime", absent.Error()), true
	}
	var unknown *session.UnknownRuntimeError
	if errors.As(err, &unknown) {
		return invalid(schema.Custom(unknown.Error(), "runtime")), true
	}
	var tools *session.ToolsError
	if errors.As(err, &tools) {
		return invalid(schema.Custom(tools.Error(), "dynamicTools")), true
	}
	var settings *session.SettingsLimitError
	if errors.As(err, &settings) {
		return invalid(schema.Custom(settings.Error(), "settings")), true
	}
	if errors.Is(err, session.ErrBadCursor) || errors.Is(err, queue.ErrBadCursor) {
		return invalid(schema.Custom("Invalid cursor", "cursor")), true
	}
	if errors.Is(err, transcript.ErrBadCursor) {
		name := "before"
		for _, other := range []string{"after", "around"} {
			if in.Query.Get(other).Defined() {
				name = other
			}
		}
		return invalid(schema.Custom("No entry of the transcript has this message id", name)), true
	}
	return failure{}, false
}

// storeFailures are about a store that refuses: writes that were outwaited, and reads that failed.
func storeFailures(err error, _ *rest.Route, _ *rest.Input) (failure, bool) {
	var outage *journal.OutageError
	switch {
	case errors.Is(err, journal.ErrStopped):
		return failure{}, false
	case errors.As(err, &outage) && errors.Is(err, runtime.ErrTimeout):
		// What the runtime did already: asked for again it would be done twice.
		return problem(http.StatusGatewayTimeout, "store_unavailable", outage.Error()+
			"; the runtime has done what was asked, and it is stored as soon as the store takes writes again: do not send it again"), true
	case errors.As(err, &outage):
		f := problem(http.StatusServiceUnavailable, "store_unavailable",
			outage.Error()+"; send the request again when it does")
		f.retry = true
		return f, true
	case database.Refused(err):
		return unreadable(err), true
	}
	return failure{}, false
}

// invalid is a request that does not follow its rules.
func invalid(issues ...schema.Issue) failure {
	return failure{status: http.StatusBadRequest, body: errorBody{
		Status: "error", Code: "invalid_request", Message: "request validation failed", Issues: issues,
	}}
}

// sessionFailures are about the session a path names.
func sessionFailures(err error, _ *rest.Route, in *rest.Input) (failure, bool) {
	var deleted *session.DeletedError
	if errors.As(err, &deleted) {
		return failure{status: http.StatusGone, body: struct {
			Status    string `json:"status"`
			SessionID string `json:"sessionId"`
			Title     string `json:"title,omitempty"`
			Message   string `json:"message"`
			DeletedAt string `json:"deletedAt"`
		}{"deleted", deleted.SessionID, deleted.Title, "This chat was permanently deleted and is no longer available.",
			javascript.ISOTime(deleted.DeletedAt)}}, true
	}
	var elsewhere *session.NotOwnerError
	if errors.As(err, &elsewhere) {
		body := notOwnerBody{Status: "error", Code: "not_owner", Message: err.Error(), SessionID: elsewhere.SessionID}
		body.Owner.NodeID = elsewhere.Owner
		return failure{status: http.StatusMisdirectedRequest, body: body}, true
	}
	var pinned *session.PinnedError
	if errors.As(err, &pinned) {
		body := notOwnerBody{Status: "error", Code: pinned.Code(), Message: err.Error(), SessionID: pinned.SessionID}
		body.Owner.NodeID = pinned.Owner
		return failure{status: http.StatusConflict, body: body}, true
	}
	var folder *session.FolderError
	if errors.As(err, &folder) {
		return folderFailure(folder), true
	}
	var system *operations.SystemSessionError
	if errors.As(err, &system) {
		return failure{status: http.StatusForbidden, body: struct {
			Status    string `json:"status"`
			Code      string `json:"code"`
			SessionID string `json:"sessionId"`
			Message   string `json:"message"`
		}{"error", "system_session", system.SessionID, "system-owned sessions are reserved for orchestrator workers"}}, true
	}
	if errors.Is(err, session.ErrNotFound) {
		return unknownSession(err, in), true
	}
	if errors.Is(err, session.ErrNotMaterialized) {
		return failure{status: http.StatusConflict, body: struct {
			Status    string `json:"status"`
			SessionID string `json:"sessionId"`
		}{"not_materialized", in.SessionID()}}, true
	}
	return failure{}, false
}

// notOwnerBody names the node that can do what was asked.
type notOwnerBody struct {
	Status    string `json:"status"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	SessionID string `json:"sessionId"`
	Owner     struct {
		NodeID string `json:"nodeId"`
	} `json:"owner"`
}

// projectFailures are about projects.
func projectFailures(err error, _ *rest.Route, in *rest.Input) (failure, bool) {
	var unassignable *operations.UnknownProjectError
	if errors.As(err, &unassignable) {
		return failure{status: http.StatusNotFound, body: struct {
			Status    string `json:"status"`
			SessionID string `json:"sessionId"`
			ProjectID string `json:"projectId"`
		}{"project_not_found", unassignable.SessionID, unassignable.ProjectID}}, true
	}
	if errors.Is(err, session.ErrProjectNotFound) {
		return failure{status: http.StatusNotFound, body: struct {
			Status    string `json:"status"`
			ProjectID string `json:"projectId"`
		}{"not_found", in.Params["projectId"]}}, true
	}
	var duplicate *session.DuplicateNameError
	if errors.As(err, &duplicate) {
		return failure{status: http.StatusConflict, body: struct {
			Status    string `json:"status"`
			ProjectID string `json:"projectId"`
		}{"duplicate_name", duplicate.ProjectID}}, true
	}
	var notEmpty *session.ProjectNotEmptyError
	if errors.As(err, &notEmpty) {
		return failure{status: http.StatusConflict, body: struct {
			Status       string `json:"status"`
			ProjectID    string `json:"projectId"`
			SessionCount int    `json:"sessionCount"`
		}{"project_not_empty", notEmpty.ProjectID, notEmpty.SessionCount}}, true
	}
	var empty *session.NotMaterializedError
	if errors.As(err, &empty) {
		return failure{status: http.StatusConflict, body: struct {
			Status     string   `json:"status"`
			ProjectID  string   `json:"projectId"`
			SessionIDs []string `json:"sessionIds"`
		}{"not_materialized_sessions", empty.ProjectID, empty.SessionIDs}}, true
	}
	return failure{}, false
}

// turnFailures are about the running turn of a session.
func turnFailures(err error, _ *rest.Route, in *rest.Input) (failure, bool) {
	var refused *session.NotRetryableError
	if errors.As(err, &refused) {
		return failure{status: http.StatusConflict,
			body: errorBody{Status: "error", Code: "not_retryable", Message: err.Error(), Details: struct {
				SessionID string `json:"sessionId"`
				TurnID    string `json:"turnId"`
				Reason    string `json:"reason"`
			}{refused.SessionID, refused.TurnID, refused.Reason}}}, true
	}
	var working *session.BackgroundError
	if errors.As(err, &working) {
		return failure{status: http.StatusConflict,
			body: errorBody{Status: "error", Code: "background_work", Message: err.Error(), Details: struct {
				SessionID  string                   `json:"sessionId"`
				Background []session.BackgroundTask `json:"background"`
			}{working.SessionID, working.Tasks}}}, true
	}
	if errors.Is(err, runtime.ErrNoBackground) {
		return problem(http.StatusNotFound, "background_not_found", err.Error()), true
	}
	if !errors.Is(err, session.ErrNoActiveTurn) && !errors.Is(err, session.ErrWrongTurn) &&
		!errors.Is(err, runtime.ErrNoActiveTurn) {
		return failure{}, false
	}
	return failure{status: http.StatusConflict, body: struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
	}{"no_active_turn", in.SessionID()}}, true
}

// interactiveFailures are about deciding a request that is not pending: the answer is codex-manager's 404, which names
// the one that won when there was one.
func interactiveFailures(err error, _ *rest.Route, in *rest.Input) (failure, bool) {
	var settled *session.SettledError
	isSettled := errors.As(err, &settled)
	if !isSettled && !errors.Is(err, session.ErrRequestNotFound) && !errors.Is(err, runtime.ErrRequestGone) {
		return failure{}, false
	}
	body := notPendingBody{Status: "not_found", ApprovalID: in.Params["approvalId"], RequestID: in.Params["requestId"]}
	if isSettled {
		body.Code = "already_resolved"
		body.Resolution = resolutionOf(settled.Request)
	}
	return failure{status: http.StatusNotFound, body: body}, true
}

// runtimeFailures are about the runtime and the store behind the packages below.
func runtimeFailures(err error, rt *rest.Route, in *rest.Input) (failure, bool) {
	var refusal *runtime.Error
	var unsupported *runtime.UnsupportedError
	var control *runtime.ControlError
	var foreign *compat.NotSupportedError
	var limit *session.LimitError
	switch {
	case errors.As(err, &foreign):
		return failure{status: http.StatusNotImplemented,
			body: errorBody{Status: "error", Code: "not_supported", Message: err.Error(), Details: struct {
				Runtime string `json:"runtime"`
			}{foreign.Runtime}}}, true
	case errors.As(err, &limit):
		f := failure{status: http.StatusTooManyRequests, retry: true,
			body: errorBody{Status: "error", Code: "limit_reached", Message: err.Error(),
				Details: struct {
					Runtime   string `json:"runtime"`
					SessionID string `json:"sessionId,omitempty"`
					Limit     int    `json:"limit"`
					Setting   string `json:"setting"`
				}{limit.Runtime, limit.SessionID, limit.Limit, limit.Setting}}}
		return f, true
	case errors.As(err, &unsupported):
		return failure{status: http.StatusConflict, body: errorBody{Status: "error", Code: "unsupported_by_runtime",
			Message: err.Error(), Details: struct {
				Runtime   string `json:"runtime"`
				Operation string `json:"operation"`
			}{unsupported.Runtime, unsupported.Operation}}}, true
	case errors.As(err, &control):
		return failure{status: http.StatusBadRequest, body: errorBody{Status: "error", Code: "unsupported_control",
			Message: err.Error(), Details: struct {
				Runtime  string   `json:"runtime"`
				Field    string   `json:"field"`
				Value    string   `json:"value"`
				Enforced []string `json:"enforced"`
			}{control.Runtime, control.Field, control.Value, append([]string{}, control.Enforced...)}}}, true
	case errors.Is(err, runtime.ErrUnavailable):
		f := problem(http.StatusServiceUnavailable, "runtime_unavailable", err.Error())
		// A turn may be unsettled until its runtime has said so, and a process that is gone is followed by another one.
		f.retry = errors.Is(err, session.ErrTurnUnsettled) || errors.Is(err, runtime.ErrProcessGone)
		return f, true
	case errors.Is(err, journal.ErrStopped):
		return problem(http.StatusServiceUnavailable, "shutting_down",
			"the server is shutting down; send the request again to another or a later one"), true
	case errors.Is(err, runtime.ErrTimeout), errors.Is(err, context.DeadlineExceeded):
		return problem(http.StatusGatewayTimeout, "codex_timeout", "the runtime timed out; its answer may still take effect"),
			true
	case errors.As(err, &refusal):
		return refusalFailure(refusal, rt, in), true
	case errors.Is(err, runtime.ErrTurnActive):
		return problem(http.StatusConflict, "turn_active", err.Error()), true
	case errors.Is(err, runtime.ErrThreadNotFound) && in.SessionID() != "":
		return sessionFailures(session.ErrNotFound, rt, in)
	case errors.Is(err, runtime.ErrTooLarge):
		return problem(http.StatusRequestEntityTooLarge, "too_large", err.Error()), true
	}
	// What the adapter refused before the runtime heard of it, in the adapter's own words.
	for _, row := range refusals {
		switch {
		case !errors.Is(err, row.kind):
		case row.status == http.StatusUnauthorized:
			return problem(row.status, row.code, loginMissing(err, "the runtime", "")), true
		default:
			return problem(row.status, row.code, err.Error()), true
		}
	}
	return failure{}, false
}

// refusals are the kinds of a runtime's refusal, in the order in which codex-manager looked for them, and how they are
// answered. auth_required is before invalid_state, unlike there: newer codex puts -32600 on everything, and 401 is what
// the API promises.
var refusals = []struct {
	kind   error
	status int
	code   string
}{
	{runtime.ErrUnsupported, http.StatusNotImplemented, "method_not_supported"},
	{runtime.ErrInvalidParams, http.StatusBadRequest, "invalid_params"},
	{runtime.ErrAuthRequired, http.StatusUnauthorized, "auth_required"},
	{runtime.ErrInvalidState, http.StatusConflict, "invalid_state"},
	{runtime.ErrProviderTimeout, http.StatusGatewayTimeout, "codex_timeout"},
}
