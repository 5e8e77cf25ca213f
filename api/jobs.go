package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/schema"
	"harness/queue"
)

// Jobs is what the job routes need of the queue. *queue.Queue implements it.
type Jobs interface {
	// Job reads a job: queue.ErrNotFound.
	Job(ctx context.Context, id string) (queue.Job, error)
	// Jobs lists a project's jobs, oldest first, of one state or of all (""). An unknown project has none.
	Jobs(ctx context.Context, projectID string, state queue.State) ([]queue.Job, error)
	// Cancel ends a queued job or asks a running one to end: queue.ErrNotFound, *queue.TerminalError.
	Cancel(ctx context.Context, id, reason string) (queue.Job, error)
	// Counts are the health figures.
	Counts(ctx context.Context) (queue.Counts, error)
}

var jobsQuery = schema.Struct(optional("state", schema.Enum(
	string(queue.Queued), string(queue.Running), string(queue.Completed), string(queue.Failed), string(queue.Canceled))))

// cancelReason is what a job canceled over REST says.
const cancelReason = "api_cancel"

func (s *server) jobRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/api/projects/:projectId/orchestrator/jobs", query: jobsQuery, handle: s.listJobs},
		{method: http.MethodGet, path: "/api/orchestrator/jobs/:jobId", handle: s.getJob},
		{method: http.MethodPost, path: "/api/orchestrator/jobs/:jobId/cancel", handle: s.cancelJob},
	}
}

type jobBody struct {
	Status string    `json:"status"`
	Job    queue.Job `json:"job"`
}

func (s *server) listJobs(ctx context.Context, in *input) (reply, error) {
	if s.Jobs == nil {
		return reply{}, errQueueOff
	}
	jobs, err := s.Jobs.Jobs(ctx, in.params["projectId"], queue.State(in.query.Get("state").Text()))
	if err != nil {
		return reply{}, err
	}
	return ok(dataBody[queue.Job]{jobs})
}

func (s *server) getJob(ctx context.Context, in *input) (reply, error) {
	if s.Jobs == nil {
		return reply{}, errQueueOff
	}
	job, err := s.Jobs.Job(ctx, in.params["jobId"])
	if err != nil {
		return reply{}, err
	}
	return ok(jobBody{"ok", job})
}

func (s *server) cancelJob(ctx context.Context, in *input) (reply, error) {
	if s.Jobs == nil {
		return reply{}, errQueueOff
	}
	job, err := s.Jobs.Cancel(ctx, in.params["jobId"], cancelReason)
	if err != nil {
		return reply{}, err
	}
	return ok(jobBody{"ok", job})
}

// errQueueOff: the queue is switched off.
var errQueueOff = errors.New("orchestrator queue is unavailable")

// jobFailures are about jobs and the queue.
func jobFailures(err error, _ *route, in *input) (failure, bool) {
	var (
		over    *queue.TerminalError
		refused *queue.Error
	)
	switch {
	case errors.Is(err, errQueueOff):
		return failure{status: http.StatusServiceUnavailable, body: queueOffBody{"error", queue.CodeConflict, in.sessionID(), errQueueOff.Error()}}, true
	case errors.Is(err, queue.ErrNotFound):
		return failure{status: http.StatusNotFound, body: struct {
			Status string `json:"status"`
			JobID  string `json:"jobId"`
		}{"not_found", in.params["jobId"]}}, true
	case errors.As(err, &over):
		return failure{status: http.StatusConflict, body: jobBody{"already_terminal", over.Job}}, true
	case errors.As(err, &refused):
		return refusedJob(refused, in), true
	}
	return failure{}, false
}

// refusedJob is an enqueue the queue refused.
func refusedJob(refused *queue.Error, in *input) failure {
	status, code := http.StatusConflict, refused.Code
	switch refused.Code {
	case queue.CodeFull:
		status = http.StatusTooManyRequests
	case queue.CodeInvalidPayload:
		status = http.StatusBadRequest
	case queue.CodeUnknownType:
		code = "request_failed"
	}
	return failure{status: status, body: queueOffBody{"error", code, in.sessionID(), refused.Message}}
}

type queueOffBody struct {
	Status    string `json:"status"`
	Code      string `json:"code"`
	SessionID string `json:"sessionId,omitempty"`
	Message   string `json:"message"`
}
