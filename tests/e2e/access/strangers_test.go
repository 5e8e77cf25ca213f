package access

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/internal/platform/database"
	"harness/tests/programtest"
)

// Of two servers on one Postgres, one has no suggestions. When it starts, it does not touch the other's queued
// suggestion, and shows operators that the suggestion waits. The other server creates it.
func TestAServerLeavesJobsOfTypesItLacksToAnother(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEngine(database.Postgres), programtest.WithEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
	server := s.Start()
	project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
		"projectId")
	suggest := func(draft string) string {
		session := server.CreateSession(nil)
		server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", programtest.Object{"projectId": project})
		return programtest.Text(server.Want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
			programtest.Object{"draft": draft}), "jobId")
	}
	first := suggest("MOCK_HOLD[first]")
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	if err := s.Model.WaitHeld(ctx, "first"); err != nil {
		t.Fatal(err)
	}
	second := suggest("MOCK_REPLY[Go on.]") // it waits, because a project runs one job at a time

	lacking := programtest.New(t, programtest.WithEnv("DATABASE_URL="+s.DatabaseURL, "ORCHESTRATOR_SUGGEST_REQUEST_ENABLED=false")).Start()
	lacking.Eventually("the other server shows the waiting job", func() bool {
		_, metrics, err := lacking.Try(http.MethodGet, "/metrics", nil)
		return err == nil && strings.Contains(string(metrics), `harness_queue_unrunnable_jobs{type="suggest_request"} 1`)
	})
	job := lacking.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+second, nil)
	if programtest.Text(job, "job", "state") != "queued" {
		t.Errorf("after the other server's start it is %v", job)
	}
	s.Model.Release("first")
	for _, id := range []string{first, second} {
		server.Eventually("the jobs are done", func() bool {
			job = server.Want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+id, nil)
			return programtest.Text(job, "job", "completedAt") != ""
		})
		if programtest.Text(job, "job", "state") != "completed" || programtest.Text(job, "job", "result", "status") != "ok" {
			t.Errorf("ended as %v", job)
		}
	}
}
