package api

import (
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/internal/services/session"
)

// unknownSession names the runtimes that may have the session and could not be asked.
func unknownSession(err error, in *rest.Input) failure {
	type details struct {
		NotAsked []session.NotAsked `json:"notAsked"`
	}
	body := struct {
		Status    string   `json:"status"`
		SessionID string   `json:"sessionId"`
		Details   *details `json:"details,omitempty"`
	}{Status: "not_found", SessionID: in.SessionID()}
	var unknown *session.UnknownError
	if errors.As(err, &unknown) {
		body.Details = &details{unknown.NotAsked}
	}
	return failure{status: http.StatusNotFound, body: body}
}

// folderFailure is about a folder that no agent can work in: the one a request names, or that of a session.
func folderFailure(e *session.FolderError) failure {
	status := http.StatusBadRequest
	if e.SessionID != "" {
		status = http.StatusConflict
	}
	return failure{status: status, body: errorBody{Status: "error", Code: e.Code(), Message: e.Error(), Details: struct {
		SessionID string `json:"sessionId,omitempty"`
		Cwd       string `json:"cwd"`
		Reason    string `json:"reason"`
	}{e.SessionID, e.Folder, e.Reason}}}
}
