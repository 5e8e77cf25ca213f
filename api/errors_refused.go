package api

import (
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/runtime"
	"harness/session"
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
	var details any = struct {
		Method    string `json:"method"`
		SessionID string `json:"sessionId,omitempty"`
	}{Method: e.Method, SessionID: in.SessionID()}
	if rt.Details != nil {
		details = rt.Details(e.Method, in)
	}
	return failure{status: status, body: errorBody{Status: "error", Code: code, Message: e.Error(), Details: details}}
}
