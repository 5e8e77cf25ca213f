package api

import (
	"cmp"
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"

	"harness/api/admin"
	"harness/api/calls"
	"harness/api/compat"
	"harness/api/rest"
	"harness/api/sessions"
	"harness/internal/operations"
	"harness/internal/platform/telemetry"
)

// writeError responds with the failure that the table maps the error to.
func (s *server) writeError(ctx context.Context, w http.ResponseWriter, rt *rest.Route, in *rest.Input, err error) {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		rest.NoteError(ctx, err)
		w.WriteHeader(statusClientGone)
		return
	}
	f := failureOf(err, rt, in)
	if f.Opaque {
		telemetry.Log(ctx).Error().Err(err).Str("route", rt.Method+" "+rt.Path).Msg("request failed")
	}
	rest.NoteError(ctx, err)
	calls.Failed(ctx, codeOf(f))
	if f.Status == http.StatusRequestEntityTooLarge || f.Status == http.StatusRequestTimeout {
		w.Header().Set("Connection", "close") // the rest of the body is not read
	}
	if f.Retry {
		w.Header().Set("Retry-After", cmp.Or(f.RetryAfter, retryAfter))
	}
	acceptable(w, f.Status)
	rest.WriteJSON(ctx, w, f.Status, f.Body)
}

// retryAfter is the delay in seconds before a client may retry a request that the store refused.
const retryAfter = "5"

// statusClientGone is nginx's status for a client that disconnected; only the access log shows it.
const statusClientGone = 499

// failureOf returns the REST form of an error: a REST error itself, otherwise by its code.
func failureOf(err error, rt *rest.Route, in *rest.Input) rest.Failure {
	for _, row := range []func(error, *rest.Route, *rest.Input) (rest.Failure, bool){
		requestFailures, sessions.Failures, idempotencyFailures, admin.Failures,
	} {
		if f, known := row(err, rt, in); known {
			return f
		}
	}
	f := operations.Classify(err)
	if f.Code == operations.CodeThreadNotFound && in.SessionID() != "" {
		f.Code = operations.CodeSessionNotFound
	}
	shown, known := answers[f.Code]
	if !known {
		return rest.Internal()
	}
	failed := shown(refused{f, err, rt, in})
	if f.Retry {
		failed.Retry = true
	}
	if f.RetryAfter > 0 {
		failed.RetryAfter = strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds())))
	}
	return failed
}

// requestFailures maps the errors of requests that REST itself refuses.
func requestFailures(err error, _ *rest.Route, _ *rest.Input) (rest.Failure, bool) {
	var (
		request    *requestError
		forbidden  *agentError
		role       *roleError
		validation *rest.ValidationError
		absent     *missingRuntimeError
		foreign    *compat.NotSupportedError
	)
	switch {
	case errors.As(err, &request):
		return rest.Problem(request.status, "request_failed", request.message), true
	case errors.As(err, &forbidden):
		return rest.Problem(http.StatusForbidden, "agent_forbidden", forbidden.Error()), true
	case errors.As(err, &role):
		return rest.Problem(http.StatusForbidden, "insufficient_role", role.Error()), true
	case errors.As(err, &validation):
		return rest.Invalid(validation.Issues...), true
	case errors.As(err, &absent):
		return rest.Problem(http.StatusNotFound, "unknown_runtime", absent.Error()), true
	case errors.As(err, &foreign):
		return detailed(http.StatusNotImplemented, "not_supported", err.Error(), struct {
			Runtime string `json:"runtime"`
		}{foreign.Runtime}), true
	}
	return rest.Failure{}, false
}

// detailed is a problem with details.
func detailed(status int, code, message string, details any) rest.Failure {
	return rest.Failure{Status: status,
		Body: rest.ErrorBody{Status: "error", Code: code, Message: message, Details: details}}
}
