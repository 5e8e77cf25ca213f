package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"harness/internal/runtime"
	"harness/internal/services/audit"
)

// calledLog collects the records of the audit log.
type calledLog struct {
	mu  sync.Mutex
	all []audit.Call
}

// Record implements calls.Sink.
func (l *calledLog) Record(call audit.Call, _ string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, call)
}

// A runtime's response to a change is recorded, whether it is a missing login or another failure.
func TestRuntimeErrorsAreRecorded(t *testing.T) {
	recorded := &calledLog{}
	b := setup(t, func(p *parts) { p.Calls = recorded })
	for _, one := range []struct {
		answer  error
		status  int
		outcome string
	}{
		{&runtime.Error{Runtime: "codex", Code: -32600, Message: "unauthorized", Kind: runtime.ErrAuthRequired}, 401, "refused"},
		{&runtime.Error{Runtime: "codex", Code: -32603, Message: "boom"}, 500, "failed"},
		{runtime.ErrUnavailable, 503, "failed"},
		{nil, 200, "ok"},
	} {
		recorded.all = nil
		b.runtime.fail, b.runtime.result = one.answer, json.RawMessage(`{}`)
		answer := b.post("/api/mcp/reload", `{}`)
		if len(recorded.all) != 1 {
			t.Fatalf("%v: recorded %+v", one.answer, recorded.all)
		}
		got := recorded.all[0]
		if got.Code != "" == (one.answer == nil) || got.Status != answer.Code || answer.Code != one.status ||
			got.Outcome != one.outcome || got.Route != "POST /api/mcp/reload" || got.Actor != "local" {
			t.Errorf("%v: answered %d %s, recorded %+v", one.answer, answer.Code, answer.Body, got)
		}
	}
}

// Each request is recorded once, by its route rather than its path. Reads and requests without a route are not
// recorded.
func TestRequestsAreRecordedByRoute(t *testing.T) {
	recorded := &calledLog{}
	b := setup(t, func(p *parts) { p.Calls = recorded })
	for range 2 { // the router must not reuse the values for another request
		b.post("/api/sessions/s%2F1/archive", "")
		b.post("/api/sessions/"+strings.Repeat("x", 120)+"/archive", "")
		b.post("/api/none", "{}")
		b.send(http.MethodGet, "/api/sessions", "", "")
		b.send(http.MethodPut, "/api/sessions", "", "")
	}
	for i, want := range []string{`s/1`, strings.Repeat("x", 120), `s/1`, strings.Repeat("x", 120)} {
		if len(recorded.all) != 4 || recorded.all[i].Route != "POST /api/sessions/{sessionId}/archive" ||
			recorded.all[i].SessionID != want || recorded.all[i].Params != fmt.Sprintf(`{"sessionId":%q}`, want) {
			t.Fatalf("recorded %+v", recorded.all)
		}
	}
}
