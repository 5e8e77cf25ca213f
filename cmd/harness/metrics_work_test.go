package main

import (
	"net/http"
	"strings"
	"testing"
)

// What one alerts on is there from the start, at zero, and tells what happens.
func TestMetricsToAlertOn(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000"))
	server := s.start()
	requireMetrics := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			server.eventually(line, func() bool { return strings.Contains(server.metrics(), "\n"+line) })
		}
	}
	requireMetrics(`harness_build_info{commit="`, `harness_runtime_up{runtime="codex"} `,
		"harness_approvals_pending 0\n", "harness_approvals_oldest_seconds 0\n",
		`harness_turns_ended_total{outcome="completed"} 0`+"\n", `harness_turns_ended_total{outcome="failed"} 0`+"\n",
		`harness_turns_ended_total{outcome="interrupted"} 0`+"\n",
		`harness_queue_jobs{state="queued"} 0`+"\n", `harness_queue_jobs{state="running"} 0`+"\n",
		"harness_queue_oldest_seconds 0\n")
	server.awaitRuntime()
	requireMetrics(`harness_runtime_up{runtime="codex"} 1` + "\n")

	project := text(server.want(http.StatusOK, http.MethodPost, "/api/projects", object{"name": "p"}), "project", "projectId")
	session := server.createSession(object{"approvalPolicy": "untrusted"})
	events := server.follow("threadId=" + session)
	for message, status := range map[string]string{"MOCK_REPLY[fine]": "completed", "MOCK_HTTP_400": "failed"} {
		if got := events.waitTurn(server.send(session, message)); got != status {
			t.Fatalf("%s: the turn ended %s", message, got)
		}
	}
	turn := server.send(session, "MOCK_CMD[true]")
	events.waitType("approval")
	requireMetrics("harness_approvals_pending 1\n")
	if waits := server.metric("harness_approvals_oldest_seconds"); waits <= 0 || waits > patience.Seconds() {
		t.Errorf("it waits for %v s", waits)
	}
	server.want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
	if got := events.waitTurn(turn); got != "interrupted" {
		t.Fatalf("the turn ended %s", got)
	}
	requireMetrics("harness_approvals_pending 0\n", `harness_turns_ended_total{outcome="completed"} 1`+"\n",
		`harness_turns_ended_total{outcome="failed"} 1`+"\n", `harness_turns_ended_total{outcome="interrupted"} 1`+"\n")

	suggest := func(draft string) {
		of := "/api/sessions/" + server.createSession(nil)
		server.want(http.StatusOK, http.MethodPost, of+"/project", object{"projectId": project})
		server.want(http.StatusAccepted, http.MethodPost, of+"/suggested-request/jobs", object{"draft": draft})
	}
	suggest("MOCK_HOLD[first]")
	if err := s.model.WaitHeld(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	suggest("MOCK_REPLY[second]") // waits: a project runs one job at a time
	requireMetrics(`harness_queue_jobs{state="queued"} 1`+"\n", `harness_queue_jobs{state="running"} 1`+"\n")
	if waits := server.metric("harness_queue_oldest_seconds"); waits <= 0 || waits > patience.Seconds() {
		t.Errorf("the job waits for %v s", waits)
	}
	s.model.Release("first")
	requireMetrics(`harness_queue_jobs{state="queued"} 0`+"\n", `harness_queue_jobs{state="running"} 0`+"\n",
		"harness_queue_oldest_seconds 0\n")
}
