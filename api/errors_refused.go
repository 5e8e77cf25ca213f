package api

import (
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// refusalFailure words what the runtime refused. codex-manager did so for mapped routes only and answered 500
// elsewhere, where a client's own mistake is a 4xx here too.
func refusalFailure(e *runtime.Error, rt *rest.Route, in *rest.Input) failure {
	status, code := http.StatusInternalServerError, "codex_error"
	for _, row := range refusals {
		if errors.Is(e, row.kind) {
			status, code = row.status, row.code
			break
		}
	}
	if !rt.Mapped {
		if errors.Is(e, runtime.ErrThreadNotFound) && in.SessionID() != "" {
			f, _ := sessionFailures(session.ErrNotFound, rt, in)
			return f
		}
		if status == http.StatusInternalServerError {
			return internalFailure()
		}
		if code == "invalid_state" {
			status, code = http.StatusBadRequest, "invalid_params"
		}
	}
	body := errorBody{Status: "error", Code: code, Message: e.Error()}
	details := refusalDetails{Method: e.Method, SessionID: in.SessionID()}
	if status == http.StatusUnauthorized {
		body.Message, details.Runtime = loginMissing(e, e.Runtime, e.Login), e.Runtime
	}
	body.Details = details
	if rt.Details != nil {
		body.Details = rt.Details(e.Method, in)
	}
	return failure{status: status, body: body}
}

// refusalDetails name what was refused; Runtime is set where its login is missing.
type refusalDetails struct {
	Method    string `json:"method"`
	SessionID string `json:"sessionId,omitempty"`
	Runtime   string `json:"runtime,omitempty"`
}

// loginMissing words the 401 of a runtime, which a client must not take for one about its token for this server. login is
// how to log in, "" when the error says so or nothing is known.
func loginMissing(err error, runtimeName, login string) string {
	text := err.Error() + "; the login of " + runtimeName + " at its model provider is meant, not your token for this server"
	if login != "" {
		text += ": " + login
	}
	return text
}
