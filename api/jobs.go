package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/queue"
)

var jobsQuery = schema.Struct(rest.Optional("state", schema.Enum(
	string(queue.Queued), string(queue.Running), string(queue.Completed), string(queue.Failed), string(queue.Canceled))))

// cancelReason is what a job canceled over REST says.
const cancelReason = "api_cancel"

func (s *server) jobRoutes() []rest.Route {
	return []rest.Route{
		{Method: http.MethodGet, Path: "/api/projects/:projectId/orchestrator/jobs", Query: jobsQuery, Handle: s.listJobs},
		{Method: http.MethodGet, Path: "/api/orchestrator/jobs/:jobId", OwnReach: true, Handle: s.getJob},
		{Method: http.MethodPost, Path: "/api/orchestrator/jobs/:jobId/cancel", OwnReach: true, Once: true, Again: true, Handle: s.cancelJob},
	}
}

type jobBody struct {
	Status string    `json:"status"`
	Job    queue.Job `json:"job"`
}

func (s *server) listJobs(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	jobs, err := s.Operations.Jobs(ctx, in.Params["projectId"], queue.State(in.Query.Get("state").Text()))
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(rest.List[queue.Job]{Data: jobs})
}

func (s *server) getJob(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	job, err := s.Operations.Job(ctx, in.Params["jobId"])
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(jobBody{"ok", job})
}

func (s *server) cancelJob(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	job, err := s.Operations.CancelJob(ctx, in.Params["jobId"], cancelReason)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(jobBody{"ok", job})
}

// jobFailures are about jobs and the queue.
func jobFailures(err error, _ *rest.Route, in *rest.Input) (failure, bool) {
	var (
		over    *queue.TerminalError
		refused *queue.Error
	)
	switch {
	case errors.Is(err, operations.ErrQueueOff):
		return failure{status: http.StatusServiceUnavailable, body: queueOffBody{"error", queue.CodeConflict, in.SessionID(),
			operations.ErrQueueOff.Error()}}, true
	case errors.Is(err, queue.ErrNotFound):
		return failure{status: http.StatusNotFound, body: struct {
			Status string `json:"status"`
			JobID  string `json:"jobId"`
		}{"not_found", in.Params["jobId"]}}, true
	case errors.Is(err, queue.ErrNotOver):
		return failure{status: http.StatusConflict, body: queueOffBody{"error", queue.CodeConflict, "",
			"the job has not ended; cancel it, or wait for its end"}}, true
	case errors.As(err, &over):
		return failure{status: http.StatusConflict, body: jobBody{"already_terminal", over.Job}}, true
	case errors.As(err, &refused):
		return refusedJob(refused, in), true
	}
	return failure{}, false
}

// refusedJob is an enqueue the queue refused.
func refusedJob(refused *queue.Error, in *rest.Input) failure {
	status, code := http.StatusConflict, refused.Code
	switch refused.Code {
	case queue.CodeFull:
		status = http.StatusTooManyRequests
	case queue.CodeInvalidPayload:
		status = http.StatusBadRequest
	case queue.CodeUnknownType:
		code = "request_failed"
	}
	return failure{status: status, body: queueOffBody{"error", code, in.SessionID(), refused.Message}}
}

type queueOffBody struct {
	Status    string `json:"status"`
	Code      string `json:"code"`
	SessionID string `json:"sessionId,omitempty"`
	Message   string `json:"message"`
}
