package main

import (
	"net/http"
	"strings"
	"testing"

	"harness/internal/dbtest"
	"harness/journal"
)

// A change asked for in a trace carries the trace's ids and its actor into the journal (EV-01), and the log names
// request and session.
func TestATraceReachesTheJournalAndTheLog(t *testing.T) {
	t.Parallel()
	const traceID, spanID, requestID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "request-of-ours"
	s := newSite(t)
	server := s.start()
	session := server.createSession(nil)
	body := `{"messageId":"m","turnId":"ci","role":"system","type":"note","content":"traced","status":"complete"}`
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.url+"/api/sessions/"+session+
		"/transcript/upsert", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Traceparent", "00-"+traceID+"-"+spanID+"-01")
	request.Header.Set("X-Request-Id", requestID)
	if answer := server.show(request); !strings.Contains(answer, requestID) {
		t.Errorf("the answer does not carry the request id: %s", answer)
	}
	server.stop()
	records, err := journal.New(dbtest.Connect(t, s.store()), journal.Options{}).Read(t.Context(),
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
	for line := range strings.Lines(server.logTail()) {
		logged = logged || (strings.Contains(line, requestID) && strings.Contains(line, session))
	}
	if !logged {
		t.Errorf("no log line names request and session:\n%s", server.logTail())
	}
}
