package admin

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/queue"
)

var jobsQuery = schema.Struct(rest.Optional("state", schema.Enum(
	string(queue.Queued), string(queue.Running), string(queue.Completed), string(queue.Failed), string(queue.Canceled))))

// cancelReason is the recorded reason of a job that REST canceled.
const cancelReason = "api_cancel"

func (s *reportAPI) jobRoutes() []rest.Route {
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

func (s *reportAPI) listJobs(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	jobs, err := s.jobs.Jobs(ctx, in.Params["projectId"], queue.State(in.Query.Get("state").Text()))
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(rest.List[queue.Job]{Data: jobs})
}

func (s *reportAPI) getJob(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	job, err := s.jobs.Job(ctx, in.Params["jobId"])
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(jobBody{"ok", job})
}

func (s *reportAPI) cancelJob(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	job, err := s.jobs.CancelJob(ctx, in.Params["jobId"], cancelReason)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(jobBody{"ok", job})
}
