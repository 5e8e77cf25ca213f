package api

import (
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/lib/javascript"
	"harness/internal/operations"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// outageOf describes an outage of the store.
func outageOf(err error) string {
	var outage *journal.OutageError
	if errors.As(err, &outage) {
		return outage.Error()
	}
	return err.Error()
}

// unknownAnchor names the query parameter that refers to an unknown entry.
func unknownAnchor(a refused) rest.Failure {
	name := "before"
	for _, other := range []string{"after", "around"} {
		if a.in.Query.Get(other).Defined() {
			name = other
		}
	}
	return rest.Invalid(schema.Custom("No entry of the transcript has this message id", name))
}

func entryNotFound(a refused) rest.Failure {
	return rest.Failure{Status: http.StatusNotFound, Body: struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
		MessageID string `json:"messageId"`
	}{"not_found", a.in.SessionID(), a.in.Body.Get("messageId").Text()}}
}

func sessionDeleted(a refused) rest.Failure {
	deleted := operations.CauseOf[*session.DeletedError](a.Failure)
	return rest.Failure{Status: http.StatusGone, Body: struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
		Title     string `json:"title,omitempty"`
		Message   string `json:"message"`
		DeletedAt string `json:"deletedAt"`
	}{"deleted", deleted.SessionID, deleted.Title, "This chat was permanently deleted and is no longer available.",
		javascript.ISOTime(deleted.DeletedAt)}}
}

// notOwnerBody names the node that can handle the request.
type notOwnerBody struct {
	Status    string `json:"status"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	SessionID string `json:"sessionId"`
	Owner     struct {
		NodeID string `json:"nodeId"`
	} `json:"owner"`
}

func notOwner(a refused) rest.Failure {
	elsewhere := operations.CauseOf[*session.NotOwnerError](a.Failure)
	body := notOwnerBody{Status: "error", Code: "not_owner", Message: a.Message, SessionID: elsewhere.SessionID}
	body.Owner.NodeID = elsewhere.Owner
	return rest.Failure{Status: http.StatusMisdirectedRequest, Body: body}
}

func pinned(a refused) rest.Failure {
	pinned := operations.CauseOf[*session.PinnedError](a.Failure)
	body := notOwnerBody{Status: "error", Code: pinned.Code(), Message: a.Message, SessionID: pinned.SessionID}
	body.Owner.NodeID = pinned.Owner
	return rest.Failure{Status: http.StatusConflict, Body: body}
}

// folderFailure reports a directory that no agent can work in, either from the request or from a session.
func folderFailure(a refused) rest.Failure {
	folder := operations.CauseOf[*session.FolderError](a.Failure)
	status, code, message := http.StatusBadRequest, string(a.Code), folder.Error()
	switch {
	case a.Code == operations.CodeFolderMissing:
		status = http.StatusConflict
	case folder.Missing:
		status, code, message = http.StatusUnprocessableEntity, "folder_missing", "That folder doesn’t exist on the server."
	}
	return detailed(status, code, message, struct {
		SessionID string `json:"sessionId,omitempty"`
		Cwd       string `json:"cwd"`
		Reason    string `json:"reason"`
	}{folder.SessionID, folder.Folder, folder.Reason})
}

func systemSession(a refused) rest.Failure {
	return rest.Failure{Status: http.StatusForbidden, Body: struct {
		Status    string `json:"status"`
		Code      string `json:"code"`
		SessionID string `json:"sessionId"`
		Message   string `json:"message"`
	}{"error", "system_session", operations.CauseOf[*operations.SystemSessionError](a.Failure).SessionID,
		"system-owned sessions are reserved for orchestrator workers"}}
}

// unknownSession names the runtimes that may have the session but could not be queried.
func unknownSession(a refused) rest.Failure {
	type details struct {
		NotAsked []session.NotAsked `json:"notAsked"`
	}
	body := struct {
		Status    string   `json:"status"`
		SessionID string   `json:"sessionId"`
		Details   *details `json:"details,omitempty"`
	}{Status: "not_found", SessionID: a.in.SessionID()}
	var unknown *session.UnknownError
	if errors.As(a.err, &unknown) {
		body.Details = &details{unknown.NotAsked}
	}
	return rest.Failure{Status: http.StatusNotFound, Body: body}
}

// stateOfSession reports a conflict with the state of the session in the path.
func stateOfSession(status string, in *rest.Input) rest.Failure {
	return rest.Failure{Status: http.StatusConflict, Body: struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
	}{status, in.SessionID()}}
}

func notRetryable(a refused) rest.Failure {
	failed := operations.CauseOf[*session.NotRetryableError](a.Failure)
	return detailed(http.StatusConflict, "not_retryable", a.Message, struct {
		SessionID string `json:"sessionId"`
		TurnID    string `json:"turnId"`
		Reason    string `json:"reason"`
	}{failed.SessionID, failed.TurnID, failed.Reason})
}

func backgroundWork(a refused) rest.Failure {
	working := operations.CauseOf[*session.BackgroundError](a.Failure)
	return detailed(http.StatusConflict, "background_work", a.Message, struct {
		SessionID  string                   `json:"sessionId"`
		Background []session.BackgroundTask `json:"background"`
	}{working.SessionID, working.Tasks})
}

// notPendingBody refuses a decision. Code and Resolution are additions to codex-manager's body and name the earlier
// decision.
type notPendingBody struct {
	Status     string      `json:"status"`
	ApprovalID string      `json:"approvalId,omitempty"`
	RequestID  string      `json:"requestId,omitempty"`
	Code       string      `json:"code,omitempty"`
	Resolution *resolution `json:"resolution,omitempty"`
}

type resolution struct {
	Status    session.RequestStatus `json:"status"`
	Decision  string                `json:"decision,omitempty"`
	Scope     string                `json:"scope,omitempty"`
	Message   string                `json:"message,omitempty"`
	DecidedBy string                `json:"decidedBy,omitempty"`
	DecidedAt string                `json:"decidedAt,omitempty"`
}

func resolutionOf(r session.Request) *resolution {
	res := &resolution{Status: r.Status, DecidedBy: r.DecidedBy}
	if r.Reply != nil {
		res.Decision, res.Scope, res.Message = r.Reply.Decision, r.Reply.Scope, r.Reply.Message
	}
	if r.SettledAt != 0 {
		res.DecidedAt = javascript.ISOTime(r.SettledAt)
	}
	return res
}

// notPending is codex-manager's 404 for a request that is not pending. It names the winning decision, if any.
func notPending(a refused) rest.Failure {
	body := notPendingBody{Status: "not_found", ApprovalID: a.in.Params["approvalId"], RequestID: a.in.Params["requestId"]}
	if a.Code == operations.CodeAlreadyResolved {
		body.Code, body.Resolution = "already_resolved", resolutionOf(operations.CauseOf[*session.SettledError](a.Failure).Request)
	}
	return rest.Failure{Status: http.StatusNotFound, Body: body}
}

func limitReached(a refused) rest.Failure {
	limit := operations.CauseOf[*session.LimitError](a.Failure)
	return detailed(http.StatusTooManyRequests, "limit_reached", a.Message, struct {
		Runtime   string `json:"runtime"`
		SessionID string `json:"sessionId,omitempty"`
		Limit     int    `json:"limit"`
		Setting   string `json:"setting"`
	}{limit.Runtime, limit.SessionID, limit.Limit, limit.Setting})
}

func unsupported(a refused) rest.Failure {
	unsupported := operations.CauseOf[*runtime.UnsupportedError](a.Failure)
	return detailed(http.StatusConflict, "unsupported_by_runtime", a.Message, struct {
		Runtime   string `json:"runtime"`
		Operation string `json:"operation"`
	}{unsupported.Runtime, unsupported.Operation})
}

func unsupportedControl(a refused) rest.Failure {
	control := operations.CauseOf[*runtime.ControlError](a.Failure)
	return detailed(http.StatusBadRequest, "unsupported_control", a.Message, struct {
		Runtime  string   `json:"runtime"`
		Field    string   `json:"field"`
		Value    string   `json:"value"`
		Enforced []string `json:"enforced"`
	}{control.Runtime, control.Field, control.Value, append([]string{}, control.Enforced...)})
}

func timedOut(refused) rest.Failure {
	return rest.Problem(http.StatusGatewayTimeout, "codex_timeout", "the runtime timed out; the operation may still take effect")
}
