package api

import (
	"net/http"

	"harness/api/rest"
	"harness/internal/operations"
	"harness/internal/services/session"
	"harness/queue"
)

func unknownProject(a refused) rest.Failure {
	unknown := operations.CauseOf[*operations.UnknownProjectError](a.Failure)
	return rest.Failure{Status: http.StatusNotFound, Body: struct {
		Status    string `json:"status"`
		SessionID string `json:"sessionId"`
		ProjectID string `json:"projectId"`
	}{"project_not_found", unknown.SessionID, unknown.ProjectID}}
}

type projectState struct {
	Status    string `json:"status"`
	ProjectID string `json:"projectId"`
}

func projectNotFound(a refused) rest.Failure {
	return rest.Failure{Status: http.StatusNotFound, Body: projectState{"not_found", a.in.Params["projectId"]}}
}

func duplicateName(a refused) rest.Failure {
	return rest.Failure{Status: http.StatusConflict,
		Body: projectState{"duplicate_name", operations.CauseOf[*session.DuplicateNameError](a.Failure).ProjectID}}
}

func projectNotEmpty(a refused) rest.Failure {
	filled := operations.CauseOf[*session.ProjectNotEmptyError](a.Failure)
	return rest.Failure{Status: http.StatusConflict, Body: struct {
		projectState
		SessionCount int `json:"sessionCount"`
	}{projectState{"project_not_empty", filled.ProjectID}, filled.SessionCount}}
}

func emptySessions(a refused) rest.Failure {
	empty := operations.CauseOf[*session.NotMaterializedError](a.Failure)
	return rest.Failure{Status: http.StatusConflict, Body: struct {
		projectState
		SessionIDs []string `json:"sessionIds"`
	}{projectState{"not_materialized_sessions", empty.ProjectID}, empty.SessionIDs}}
}

// jobProblem is a refusal by the queue.
type jobProblem struct {
	Status    string `json:"status"`
	Code      string `json:"code"`
	SessionID string `json:"sessionId,omitempty"`
	Message   string `json:"message"`
}

func jobsOff(a refused) rest.Failure {
	return rest.Failure{Status: http.StatusServiceUnavailable,
		Body: jobProblem{"error", queue.CodeConflict, a.in.SessionID(), operations.ErrQueueOff.Error()}}
}

func jobNotFound(a refused) rest.Failure {
	return rest.Failure{Status: http.StatusNotFound, Body: struct {
		Status string `json:"status"`
		JobID  string `json:"jobId"`
	}{"not_found", a.in.Params["jobId"]}}
}

func jobNotOver(refused) rest.Failure {
	return rest.Failure{Status: http.StatusConflict,
		Body: jobProblem{"error", queue.CodeConflict, "", "the job has not ended; cancel it, or wait until it ends"}}
}

func jobOver(a refused) rest.Failure {
	over := operations.CauseOf[*queue.TerminalError](a.Failure)
	return rest.Failure{Status: http.StatusConflict, Body: struct {
		Status string    `json:"status"`
		Job    queue.Job `json:"job"`
	}{"already_terminal", over.Job}}
}

// jobRefused is a job that the queue rejected.
func jobRefused(a refused) rest.Failure {
	problem := operations.CauseOf[*queue.Error](a.Failure)
	status, code := http.StatusConflict, problem.Code
	switch problem.Code {
	case queue.CodeFull:
		status = http.StatusTooManyRequests
	case queue.CodeInvalidPayload:
		status = http.StatusBadRequest
	case queue.CodeUnknownType:
		code = "request_failed"
	}
	return rest.Failure{Status: status, Body: jobProblem{"error", code, a.in.SessionID(), problem.Message}}
}

func missingSuggestion(refused) rest.Failure {
	return rest.Failure{Status: http.StatusBadRequest, Body: rest.ErrorBody{Status: "invalid_request",
		Code: "missing_suggestion", Message: operations.ErrMissingSuggestion.Error()}}
}
