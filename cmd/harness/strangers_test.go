package main

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"harness/database"
)

// Two servers on one Postgres, one of them without suggestions: it leaves the other's queued suggestion alone when it
// starts, shows operators that it waits, and the other one makes it.
func TestAServerLeavesJobsOfTypesItLacksToAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEngine(database.Postgres), withEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
	server := s.start()
	project := text(server.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "p"}), "project",
		"projectId")
	suggest := func(draft string) string {
		session := server.createSession(nil)
		server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/project", object{"projectId": project})
		return text(server.want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/suggested-request/jobs",
			object{"draft": draft}), "jobId")
	}
	first := suggest("MOCK_HOLD[first]")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := s.model.WaitHeld(ctx, "first"); err != nil {
		t.Fatal(err)
	}
	second := suggest("MOCK_REPLY[Go on.]") // waits: a project runs one job at a time

	lacking := newSite(t, withEnv("DATABASE_URL="+s.databaseURL, "ORCHESTRATOR_SUGGEST_REQUEST_ENABLED=false")).start()
	lacking.eventually("the other server shows the waiting job", func() bool {
		_, metrics, err := lacking.try(http.MethodGet, "/metrics", nil)
		return err == nil && strings.Contains(string(metrics), `harness_queue_unrunnable_jobs{type="suggest_request"} 1`)
	})
	job := lacking.want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+second, nil)
	if text(job, "job", "state") != "queued" {
		t.Errorf("after the other server's start it is %v", job)
	}
	s.model.Release("first")
	for _, id := range []string{first, second} {
		server.eventually("the jobs are done", func() bool {
			job = server.want(http.StatusOK, http.MethodGet, "/api/orchestrator/jobs/"+id, nil)
			return text(job, "job", "completedAt") != ""
		})
		if text(job, "job", "state") != "completed" || text(job, "job", "result", "status") != "ok" {
			t.Errorf("ended as %v", job)
		}
	}
}
