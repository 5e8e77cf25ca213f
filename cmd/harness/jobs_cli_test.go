package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// The jobs commands against the recorded shapes of the job routes: output, exit code, and an error that names the
// remedy.
func TestJobsCommands(t *testing.T) {
	t.Parallel()
	const job = `{"id":"j-1","type":"agent_instruction","state":"STATE","priority":"interactive","error":null,` +
		`"attempts":1,"maxAttempts":2,"createdAt":"2026-11-21T01:29:55.754Z","payload":{"a":"<&>"}}`
	in := func(state string) string { return strings.Replace(job, "STATE", state, 1) }
	var asked atomic.Int64
	answers := map[string]func() (int, string){
		"GET /api/projects/session:s/orchestrator/jobs?state=queued": func() (int, string) {
			return 200, `{"data":[` + in("queued") + `]}`
		},
		"GET /api/orchestrator/jobs/j-1": func() (int, string) {
			return 200, `{"status":"ok","job":` + in("running") + `}`
		},
		"GET /api/orchestrator/jobs/j-2": func() (int, string) {
			if asked.Add(1) < 3 {
				return 200, `{"status":"ok","job":` + in("running") + `}`
			}
			return 200, `{"status":"ok","job":` + in("completed") + `}`
		},
		"GET /api/orchestrator/jobs/j-3": func() (int, string) {
			return 200, `{"status":"ok","job":` + in("failed") + `}`
		},
		"POST /api/orchestrator/jobs/j-1/cancel": func() (int, string) {
			return 200, `{"status":"ok","job":` + in("running") + `}`
		},
		"POST /api/orchestrator/jobs/j-3/cancel": func() (int, string) {
			return 409, `{"status":"already_terminal","job":` + in("failed") + `}`
		},
		"GET /api/orchestrator/jobs/off": func() (int, string) {
			return 503, `{"status":"error","code":"job_conflict","message":"orchestrator queue is unavailable"}`
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, known := answers[r.Method+" "+r.URL.RequestURI()]
		status, body := http.StatusNotFound, `{"status":"not_found","jobId":"x"}`
		if known {
			status, body = answer()
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"list", "session:s", "--state", "queued"}, 0, "j-1  agent_instruction  queued  interactive  1/2"},
		{[]string{"show", "j-1"}, 0, `"a": "<&>"`},
		{[]string{"show", "nope"}, 1, "no such job"},
		{[]string{"show", "off"}, 1, "orchestrator queue is unavailable (503)"},
		{[]string{"cancel", "j-1"}, 0, `"state": "running"`},
		{[]string{"cancel", "j-3"}, 1, "already failed"},
		{[]string{"wait", "j-2"}, 0, `"state": "completed"`},
		{[]string{"wait", "j-3"}, 1, "the job is failed"},
		{[]string{"wait", "j-1", "--timeout", "1ms"}, 1, "deadline exceeded"},
	} {
		var out bytes.Buffer
		exit := run(t.Context(), append([]string{"jobs", "--url", server.URL}, c.args...), &out, &out)
		if exit != c.exit || !strings.Contains(out.String(), c.want) {
			t.Errorf("jobs %v: exit %d, %s", c.args, exit, out.String())
		}
	}
}
