package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"harness/queue"
)

// fakeJobs is a queue as a list of jobs.
type fakeJobs []queue.Job

func (f fakeJobs) Job(_ context.Context, id string) (queue.Job, error) {
	for _, job := range f {
		if job.ID == id {
			return job, nil
		}
	}
	return queue.Job{}, queue.ErrNotFound
}

func (f fakeJobs) Jobs(_ context.Context, projectID string, state queue.State) ([]queue.Job, error) {
	jobs := []queue.Job{}
	for _, job := range f {
		if job.ProjectID == projectID && (state == "" || state == job.State) {
			jobs = append(jobs, job)
		}
	}
	return jobs, nil
}

func (f fakeJobs) Cancel(ctx context.Context, id, reason string) (queue.Job, error) {
	job, err := f.Job(ctx, id)
	if err != nil {
		return queue.Job{}, err
	}
	if job.State.Final() {
		return queue.Job{}, &queue.TerminalError{Job: job}
	}
	job.State, job.Error = queue.Canceled, &reason
	return job, nil
}

func (f fakeJobs) Counts(context.Context) (queue.Counts, error) {
	return queue.Counts{Queued: 1, Completed: 49, Failed: 2, Canceled: 3, Projects: 36}, nil
}

// The responses of the job routes match the recorded ones byte for byte.
func TestJobRoutes(t *testing.T) {
	t.Parallel()
	over := queue.Job{ID: "j-1", Type: "work", Version: 1, ProjectID: "session:s/1", Priority: queue.Interactive,
		State: queue.Completed, Payload: json.RawMessage(`{}`), Attempts: 1, MaxAttempts: 2}
	waiting := over
	waiting.ID, waiting.State = "j-2", queue.Queued
	b := setup(t, func(o *parts) { o.Jobs = fakeJobs{over, waiting} })
	wire := func(job queue.Job) string {
		encoded, err := json.Marshal(job)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
	const list = "/api/projects/session%3As%2F1/orchestrator/jobs"
	canceled, reason := waiting, "api_cancel"
	canceled.State, canceled.Error = queue.Canceled, &reason
	badState := `{"status":"error","code":"invalid_request","message":"request validation failed",` +
		`"issues":[{"code":"invalid_value","values":["queued","running","completed","failed","canceled"],` +
		`"path":["state"],"message":"Invalid option: expected one of \"queued\"|\"running\"|\"completed\"|\"failed\"|\"canceled\""}]}`
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{http.MethodGet, list, http.StatusOK, `{"data":[` + wire(over) + `,` + wire(waiting) + `]}`},
		{http.MethodGet, list + "?state=queued", http.StatusOK, `{"data":[` + wire(waiting) + `]}`},
		{http.MethodGet, list + "?state=failed", http.StatusOK, `{"data":[]}`},
		{http.MethodGet, list + "?state=bogus", http.StatusBadRequest, badState},
		{http.MethodGet, list + "?state=", http.StatusBadRequest, badState},
		{http.MethodGet, "/api/projects/nope/orchestrator/jobs", http.StatusOK, `{"data":[]}`},
		{http.MethodGet, "/api/orchestrator/jobs/j-1", http.StatusOK, `{"status":"ok","job":` + wire(over) + `}`},
		{http.MethodGet, "/api/orchestrator/jobs/%20j-1%20", http.StatusOK, `{"status":"ok","job":` + wire(over) + `}`},
		{http.MethodGet, "/api/orchestrator/jobs/nope", http.StatusNotFound, `{"status":"not_found","jobId":"nope"}`},
		{http.MethodPost, "/api/orchestrator/jobs/nope/cancel", http.StatusNotFound, `{"status":"not_found","jobId":"nope"}`},
		{http.MethodPost, "/api/orchestrator/jobs/j-1/cancel", http.StatusConflict, `{"status":"already_terminal","job":` +
			wire(over) + `}`},
		{http.MethodPost, "/api/orchestrator/jobs/j-2/cancel", http.StatusOK, `{"status":"ok","job":` + wire(canceled) + `}`},
	} {
		expect(t, b.send(c.method, c.path, "", ""), c.status, c.body)
	}
	if got := b.send(http.MethodGet, "/api/health", "", "").Body.String(); !strings.Contains(got,
		`"orchestratorQueue":{"enabled":true,"queued":1,"running":0,"completed":49,"failed":2,"canceled":3,"projects":36},"auth"`) {
		t.Errorf("health %s", got)
	}
}

// With the queue disabled, the job routes report this after their own validation.
func TestJobRoutesWithoutQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const off = `{"status":"error","code":"job_conflict","message":"orchestrator queue is unavailable"}`
	expect(t, b.send(http.MethodGet, "/api/orchestrator/jobs/x", "", ""), http.StatusServiceUnavailable, off)
	expect(t, b.send(http.MethodGet, "/api/projects/x/orchestrator/jobs", "", ""), http.StatusServiceUnavailable, off)
	expect(t, b.send(http.MethodPost, "/api/orchestrator/jobs/x/cancel", "", ""), http.StatusServiceUnavailable, off)
	if got := b.send(http.MethodGet, "/api/projects/x/orchestrator/jobs?state=zz", "",
		""); got.Code != http.StatusBadRequest {
		t.Errorf("a bad state got %d", got.Code)
	}
}
