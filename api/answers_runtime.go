package api

import (
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/runtime"
)

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

// kindOf is the status and the code of a refusal; false when it is of none of these kinds.
func kindOf(err error) (status int, code string, known bool) {
	for _, row := range refusals {
		if errors.Is(err, row.kind) {
			return row.status, row.code, true
		}
	}
	return http.StatusInternalServerError, "codex_error", false
}

// adapterRefused is what the adapter refused before the runtime got it, in the adapter's words.
func adapterRefused(a refused) rest.Failure {
	status, code, _ := kindOf(a.err)
	if status == http.StatusUnauthorized {
		return rest.Problem(status, code, loginMissing(a.err, "the runtime", ""))
	}
	return rest.Problem(status, code, a.Message)
}

// refusalFailure is what the runtime refused. codex-manager answered so for mapped routes only, and 500 elsewhere,
// where a client's own mistake is a 4xx here too.
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

// refusalDetails name what was refused; Runtime is set where its login is missing.
type refusalDetails struct {
	Method    string `json:"method"`
	SessionID string `json:"sessionId,omitempty"`
	Runtime   string `json:"runtime,omitempty"`
}

// loginMissing is the message of the 401 of a runtime, which a client must not take for one about its token for this
// server. login is how to log in, "" when the error says so or nothing is known.
func loginMissing(err error, runtimeName, login string) string {
	text := err.Error() + "; the login of " + runtimeName + " at its model provider is meant, not your token for this server"
	if login != "" {
		text += ": " + login
	}
	return text
}
