package clients

import (
	"net/http"
	"strings"
	"testing"

	"harness/internal/platform/journal"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// A change requested in a trace carries the trace's ids and its actor into the journal (EV-01), and the log names the
// request and the session.
func TestATraceReachesTheJournalAndTheLog(t *testing.T) {
	t.Parallel()
	const traceID, spanID, requestID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "request-of-ours"
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	body := `{"messageId":"m","turnId":"ci","role":"system","type":"note","content":"traced","status":"complete"}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/api/sessions/"+session+
		"/transcript/upsert", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
	request.Header.Set("X-Request-Id", requestID)
	if answer := server.Show(request); !strings.Contains(answer, requestID) {
		t.Errorf("the answer does not carry the request id: %s", answer)
	}
	server.Stop()
	records, err := journal.New(dbtest.Connect(t, s.Store()), journal.Options{}).Read(t.Context(),
		journal.Query{Session: session, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, r := range records {
		if r.Type == "transcript_updated" {
			found = r.TraceID == traceID && r.SpanID != "" && r.Actor != ""
		}
	}
	if !found {
		t.Errorf("no upsert with its trace and actor in %+v", records)
	}
	logged := false
	for line := range strings.Lines(server.Log()) {
		logged = logged || (strings.Contains(line, requestID) && strings.Contains(line, session))
	}
	if !logged {
		t.Errorf("no log line names request and session:\n%s", server.LogTail())
	}
}

// EV-01, EV-30: a task requested in a trace has it in each of its events and in every record of its turn: the
// runtime's records, the tool calls and the approval. This also holds if another server resumes the turn.
func TestATraceIsInEveryEventOfATurn(t *testing.T) {
	t.Parallel()
	const traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	s := programtest.New(t, programtest.WithEnv("HARNESS_TOOLS=workspace.read"))
	server := s.Start()
	server.AwaitRuntime()
	session := programtest.Text(server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions",
		programtest.Object{"runtime": "codex", "permission_mode": "ask", "cwd": s.Workspace, "native_tools": "on"}), "session_id")
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/sessions/"+session+"/tasks",
		strings.NewReader(
			`{"task_id":"traced","messages":[{"role":"user","content":"MOCK_CALL[harness/workspace_read|{\"path\":\"none\"}]END `+
				`MOCK_CMD[echo hello]"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+traceID+"-00f067aa0ba902b7-01")
	server.Show(request)
	decided := ""
	approve := func() {
		var asked string
		server.Eventually("something else is asked", func() bool {
			data, _ := server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"/approvals", nil)["data"].([]any)
			if len(data) == 1 {
				asked = programtest.Text(data[0], "approvalId")
			}
			return asked != "" && asked != decided
		})
		server.Want(http.StatusOK, http.MethodPost, "/api/approvals/"+asked+"/decision", programtest.Object{"decision": "accept"})
		decided = asked
	}
	approve()
	followTasks(server, session, 0).until("tool.call.completed")
	server.Kill()
	server = s.Start()
	server.AwaitRuntime()
	approve()
	followTasks(server, session, 0).until("task.completed")
	events := server.Want(http.StatusOK, http.MethodGet, "/v1/sessions/"+session+"/events?limit=1000", nil)["events"].([]any)
	count := 0
	for _, one := range events {
		e := one.(programtest.Object)
		for _, member := range []string{"schema_version", "seq", "time", "type", "trace", "runtime", "payload"} {
			if e[member] == nil {
				t.Errorf("an event has no %s: %v", member, e)
			}
		}
		if e["type"] == "session.created" {
			continue // of the previous request
		}
		count++
		trace := e["trace"].(programtest.Object)
		if trace["trace_id"] != traceID || trace["task_id"] != "traced" {
			t.Errorf("an event is in the trace %v: %v", trace, e)
		}
	}
	if count < 8 {
		t.Errorf("the task has only %d events", count)
	}
	server.Stop()
	records, err := journal.New(dbtest.Connect(t, s.Store()), journal.Options{}).Read(t.Context(),
		journal.Query{Session: session, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, r := range records {
		if r.TurnID == "" {
			continue
		}
		of[r.Source]++
		if r.TraceID != traceID || r.SpanID == "" {
			t.Errorf("%d %s of %s is in trace %q: %.200s", r.Seq, r.Type, r.Source, r.TraceID, r.Payload)
		}
	}
	if of["codex"] < 5 || of["tools"] == 0 || of["tasks"] == 0 {
		t.Errorf("the turn has events of %v", of)
	}
}
