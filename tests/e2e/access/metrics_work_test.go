package access

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"harness/tests/programtest"
)

// Metrics for alerts exist from the start, at zero, and count events.
func TestMetricsToAlertOn(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("ORCHESTRATOR_SUGGEST_REQUEST_WAIT_MS=50000", "HARNESS_TOOLS=workspace.read"))
	server := s.Start()
	requireMetrics := func(lines ...string) {
		t.Helper()
		for _, line := range lines {
			server.Eventually(line, func() bool { return strings.Contains(server.Metrics(), "\n"+line) })
		}
	}
	requireMetrics(`harness_build_info{commit="`, `harness_runtime_up{runtime="codex"} `,
		"harness_approvals_pending 0\n", "harness_approvals_oldest_seconds 0\n",
		`harness_turns_ended_total{outcome="completed"} 0`+"\n", `harness_turns_ended_total{outcome="failed"} 0`+"\n",
		`harness_turns_ended_total{outcome="interrupted"} 0`+"\n",
		`harness_queue_jobs{state="queued"} 0`+"\n", `harness_queue_jobs{state="running"} 0`+"\n",
		"harness_queue_oldest_seconds 0\n", `harness_tasks_open{state="queued"} 0`+"\n",
		`harness_task_seconds_count{outcome="completed"} 0`+"\n", `harness_tool_seconds_count{class="write"} 0`+"\n",
		`harness_tool_calls_total{class="read-only",outcome="denied"} 0`+"\n",
		`harness_http_requests_total{method="POST",route="/api/sessions/{sessionId}/messages",status="5xx"} 0`+"\n",
		`harness_http_requests_total{method="POST",route="/api/sessions",status="2xx"} 0`+"\n")
	requireAlerts(t, server.Metrics())
	server.AwaitRuntime()
	server.Want(http.StatusNotFound, http.MethodGet, "/api/sessions/nobodys", nil)
	server.Want(http.StatusNotFound, http.MethodGet, "/nowhere", nil)
	server.Want(http.StatusNotFound, "BREW", "/api/sessions", nil)
	requireMetrics(`harness_http_requests_total{method="GET",route="/api/sessions/{sessionId}",status="4xx"} 1`+"\n",
		`harness_http_requests_total{method="any",route="none",status="4xx"} 2`+"\n",
		`harness_http_request_duration_seconds_bucket{le="60"} `)
	requireMetrics(`harness_runtime_up{runtime="codex"} 1` + "\n")

	project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
		"projectId")
	session := server.CreateSession(programtest.Object{"approvalPolicy": "untrusted"})
	requireMetrics(`harness_http_requests_total{method="POST",route="/api/sessions",status="2xx"} 1` + "\n")
	events := server.Follow("threadId=" + session)
	for message, status := range map[string]string{"MOCK_REPLY[fine]": "completed", "MOCK_HTTP_400": "failed"} {
		if got := events.WaitTurn(server.Send(session, message)); got != status {
			t.Fatalf("%s: the turn ended %s", message, got)
		}
	}
	turn := server.Send(session, "MOCK_CMD[true]")
	events.WaitType("approval")
	requireMetrics("harness_approvals_pending 1\n", `harness_sessions_active{runtime="codex"} 1`+"\n")
	if waits := server.Metric("harness_approvals_oldest_seconds"); waits <= 0 || waits > programtest.Patience.Seconds() {
		t.Errorf("it waits for %v s", waits)
	}
	server.Want(http.StatusOK, http.MethodPost, "/api/sessions/"+session+"/interrupt", nil)
	if got := events.WaitTurn(turn); got != "interrupted" {
		t.Fatalf("the turn ended %s", got)
	}
	requireMetrics("harness_approvals_pending 0\n", `harness_sessions_active{runtime="codex"} 0`+"\n", `harness_turns_ended_total{outcome="completed"} 1`+"\n",
		`harness_turns_ended_total{outcome="failed"} 1`+"\n", `harness_turns_ended_total{outcome="interrupted"} 1`+"\n")

	counted := programtest.Text(server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
		programtest.Object{"runtime": "codex", "cwd": s.Workspace, "permission_mode": "auto"}), "session_id")
	server.Want(http.StatusAccepted, http.MethodPost, "/v1/sessions/"+counted+"/tasks", programtest.Object{"messages": []programtest.Object{
		{"role": "user", "content": programtest.OwnedTool("workspace_read", `{"path":"none"}`)}}})
	requireMetrics(`harness_task_seconds_count{outcome="completed"} 1`+"\n",
		`harness_tool_seconds_count{class="read-only"} 1`+"\n",
		`harness_tool_calls_total{class="read-only",outcome="failed"} 1`+"\n", `harness_tasks_open{state="running"} 0`+"\n")
	for _, work := range []string{`harness_runtime_turn_seconds_%s{runtime="codex"}`, `harness_task_seconds_%s{outcome="completed"}`} {
		if count, sum := server.Metric(fmt.Sprintf(work, "count")), server.Metric(fmt.Sprintf(work, "sum")); count < 1 || sum < 0.01 {
			t.Errorf("%s: %v were timed, which took %v s", work, count, sum)
		}
	}

	suggest := func(draft string) {
		of := "/api/sessions/" + server.CreateSession(nil)
		server.Want(http.StatusOK, http.MethodPost, of+"/project", programtest.Object{"projectId": project})
		server.Want(http.StatusAccepted, http.MethodPost, of+"/suggested-request/jobs", programtest.Object{"draft": draft})
	}
	suggest("MOCK_HOLD[first]")
	if err := s.Model.WaitHeld(t.Context(), "first"); err != nil {
		t.Fatal(err)
	}
	suggest("MOCK_REPLY[second]") // it waits, because a project runs one job at a time
	requireMetrics(`harness_queue_jobs{state="queued"} 1`+"\n", `harness_queue_jobs{state="running"} 1`+"\n")
	if waits := server.Metric("harness_queue_oldest_seconds"); waits <= 0 || waits > programtest.Patience.Seconds() {
		t.Errorf("the job waits for %v s", waits)
	}
	s.Model.Release("first")
	requireMetrics(`harness_queue_jobs{state="queued"} 0`+"\n", `harness_queue_jobs{state="running"} 0`+"\n",
		"harness_queue_oldest_seconds 0\n")
}

// requireAlerts parses the alert rules and the board with Prometheus's own parser, and checks that every metric in
// them exists.
func requireAlerts(t *testing.T, metrics string) {
	t.Helper()
	reader := exec.CommandContext(t.Context(), "go", "run", "-trimpath", ".", "../../deploy/alerts.yml", "../../deploy/grafana.json")
	reader.Dir, reader.Env = "../../../scripts/alerts", append(os.Environ(), "CGO_ENABLED=0")
	asked, err := reader.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%v\n%s", err, exit.Stderr)
		}
		t.Fatal(err)
	}
	series := strings.Split(metrics, "\n")
	for line := range strings.Lines(string(asked)) {
		words := strings.Fields(line)
		if !slices.ContainsFunc(series, func(s string) bool {
			name, labels, _ := strings.Cut(s, "{")
			name, _, _ = strings.Cut(name, " ")
			return name == words[0] && !slices.ContainsFunc(words[1:], func(word string) bool { return !strings.Contains(labels, word) })
		}) {
			t.Errorf("alerts or the board ask for %s, which is not there at the start", line)
		}
	}
	if !strings.Contains(string(asked), "harness_http_requests_total status=\"5xx\"") {
		t.Errorf("they ask for %s", asked)
	}
}
