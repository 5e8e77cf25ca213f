package api

import (
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/runtime"
)

// refusals lists the kinds of runtime refusals and their responses, in codex-manager's order. auth_required precedes
// invalid_state, unlike there: newer codex sends -32600 for everything, and the API promises 401.
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

// kindOf returns the status and code of a refusal, or false for an unknown kind.
func kindOf(err error) (status int, code string, known bool) {
	for _, row := range refusals {
		if errors.Is(err, row.kind) {
			return row.status, row.code, true
		}
	}
	return http.StatusInternalServerError, "codex_error", false
}

// adapterRefused is a refusal by the adapter before the request reached the runtime. It carries the adapter's
// message.
func adapterRefused(a refused) rest.Failure {
	status, code, _ := kindOf(a.err)
	if status == http.StatusUnauthorized {
		return rest.Problem(status, code, loginMissing(a.err, "the runtime", ""))
	}
	return rest.Problem(status, code, a.Message)
}

// refusalFailure is a refusal by the runtime. codex-manager responded this way only on mapped routes, and with 500
// elsewhere. This server returns a 4xx for a client's mistake on every route.
func refusalFailure(a refused) rest.Failure {
	e := a.Native
	status, code, known := kindOf(e)
	if !a.rt.Mapped {
		switch {
		case errors.Is(e, runtime.ErrThreadNotFound) && a.in.SessionID() != "":
			a.Code, a.err = operations.CodeSessionNotFound, e
			return unknownSession(a)
		case !known:
			return rest.Internal()
		case code == "invalid_state":
			status, code = http.StatusBadRequest, "invalid_params"
		}
	}
	message := e.Error()
	details := refusalDetails{Method: e.Method, SessionID: a.in.SessionID()}
	if status == http.StatusUnauthorized {
		message, details.Runtime = loginMissing(e, e.Runtime, e.Login), e.Runtime
	}
	if a.rt.Details != nil {
		return detailed(status, code, message, a.rt.Details(e.Method, a.in))
	}
	return detailed(status, code, message, details)
}

// refusalDetails names the refused method. Runtime is set when the runtime's login is missing.
type refusalDetails struct {
	Method    string `json:"method"`
	SessionID string `json:"sessionId,omitempty"`
	Runtime   string `json:"runtime,omitempty"`
}

// loginMissing is the message of a runtime's 401, which must not look like a wrong token for this server. login
// describes how to log in. It is "" when the error describes it or no way is known.
func loginMissing(err error, runtimeName, login string) string {
	text := err.Error() + "; this is about the login of " + runtimeName + " at its model provider, not your token for this server"
	if login != "" {
		text += ": " + login
	}
	return text
}
