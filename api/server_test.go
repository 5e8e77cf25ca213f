package api_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"harness/api"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
)

func TestHealthReportsState(t *testing.T) {
	t.Parallel()
	b := setup(t)
	check := func(status, codex, runtimes string) {
		t.Helper()
		expect(t, b.send(http.MethodGet, "/api/health", "", ""), http.StatusOK,
			`{"status":"`+status+`","service":"api","codex":`+codex+
				`,"orchestratorQueue":{"enabled":false},"auth":{"hasOpenAiApiKey":true,"codexHomeAuthFile":false,"likelyUnauthenticated":false}`+
				`,"runtimes":[`+runtimes+`],"timestamp":"2026-11-21T01:28:12.000Z"}`)
	}
	check("ok", `{"running":true,"pid":24125,"initialized":true}`,
		`{"name":"codex","default":true,"state":"ready","processes":[{"pid":24125,"state":"ready"}],"waiting":0}`)
	b.health.status.Shim = &runtime.ShimStatus{PID: 24000, Version: "1.2.3", Servers: 2}
	const shim = `"shim":{"pid":24000,"version":"1.2.3","servers":2}`
	check("ok", `{"running":true,"pid":24125,"initialized":true,`+shim+`}`,
		`{"name":"codex","default":true,"state":"ready","processes":[{"pid":24125,"state":"ready",`+shim+`}],"waiting":0}`)
	b.health.status = runtime.Status{State: runtime.StateUnavailable, Reason: "codex is not installed; set CODEX_BIN"}
	const reason = `"state":"unavailable","reason":"codex is not installed; set CODEX_BIN"`
	check("degraded", `{"running":false,"pid":null,"initialized":false,`+reason+`}`,
		`{"name":"codex","default":true,`+reason+`,"processes":[],"waiting":0}`)
	b.health.status = runtime.Status{State: runtime.StateStarting, PID: 7, Reason: "codex is starting"}
	const starting = `"state":"starting","reason":"codex is starting"`
	check("degraded", `{"running":true,"pid":7,"initialized":false,`+starting+`}`,
		`{"name":"codex","default":true,`+starting+`,"processes":[{"pid":7,"state":"starting"}],"waiting":0}`)

	// A runtime other than the default may be unavailable. A runtime with a process for each session lists all of them.
	b.health.status = runtime.Status{State: runtime.StateReady, PID: 7}
	b.health.others = []api.RuntimeHealth{
		{Name: "away", Status: runtime.Status{State: runtime.StateUnavailable, Reason: "install it"}},
		{Name: "many", Status: runtime.Status{State: runtime.StateReady, Version: "2.1", Queued: 3,
			Processes: []runtime.ProcessStatus{
				{PID: 8, Serves: knownID, State: runtime.StateReady, StartedAt: time.UnixMilli(1795224492000)},
			}}},
	}
	check("ok", `{"running":true,"pid":7,"initialized":true}`,
		`{"name":"codex","default":true,"state":"ready","processes":[{"pid":7,"state":"ready"}],"waiting":0},`+
			`{"name":"away","default":false,"state":"unavailable","reason":"install it","processes":[],"waiting":0},`+
			`{"name":"many","default":false,"state":"ready","version":"2.1","processes":[{"pid":8,"state":"ready",`+
			`"startedAt":"2026-11-21T01:28:12.000Z"}],"waiting":3}`)
}

// Health reports which store refuses writes, since when and why, but not its address.
func TestHealthOfStoreOutage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.health.outage = &journal.OutageError{Engine: database.SQLite, Since: time.UnixMilli(1795224492000),
		Cause: errors.New("dial tcp 10.0.0.7:5432")}
	answer := b.send(http.MethodGet, "/api/health", "", "").Body.String()
	want := `"store":{"engine":"sqlite","state":"refusing_writes","since":"2026-11-21T01:28:12.000Z","reason":"it cannot be reached"}`
	if !strings.HasPrefix(answer, `{"status":"degraded"`) || !strings.Contains(answer, want) {
		t.Errorf("health is %s", answer)
	}
}

// The response to a request refused because of the store has a retry time.
func TestRetryAfterAnOutage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.fail = &journal.OutageError{Engine: database.SQLite, Cause: errors.New("full")}
	answer := b.send(http.MethodPost, "/api/sessions/"+knownID+"/messages", "application/json", `{"text":"x"}`)
	if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") != "5" {
		t.Errorf("%d, Retry-After %q", answer.Code, answer.Header().Get("Retry-After"))
	}
}

// Readiness names the store and every runtime, and requires one runtime that can run a turn. Liveness requires
// nothing.
func TestReady(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"/api/ready", "/readyz"} {
		expect(t, b.send(http.MethodGet, path, "", ""), http.StatusOK,
			`{"status":"ready","version":"test","store":{"ready":true},"runtimes":[{"name":"codex","state":"ready"}]}`)
	}
	b.health.status = runtime.Status{State: runtime.StateUnavailable, Reason: "install it"}
	gone := `"runtimes":[{"name":"codex","state":"unavailable","reason":"install it"}]}`
	expect(t, b.send(http.MethodGet, "/readyz", "", ""), http.StatusServiceUnavailable,
		`{"status":"not_ready","reason":"no runtime is available; `+"`harness doctor`"+
			` says what each needs","store":{"ready":true},`+gone)
	b.health.others = []api.RuntimeHealth{{Name: "claude", Status: runtime.Status{State: runtime.StateReady}}}
	if got := b.send(http.MethodGet, "/readyz", "", ""); got.Code != http.StatusOK {
		t.Errorf("with another runtime it says %d %s", got.Code, got.Body)
	}
	b.health.storeRefuses = &journal.OutageError{Engine: database.SQLite, Cause: errors.New("dial tcp 10.0.0.7:5432")}
	if got := b.send(http.MethodGet, "/readyz", "", "").Body.String(); !strings.Contains(got,
		`"store":{"ready":false,"reason":`) || strings.Contains(got, "10.0.0.7") {
		t.Errorf("a store that refuses writes is reported as %s", got)
	}
	b.health.notReady = errors.New("draining")
	if got := b.send(http.MethodGet, "/readyz", "", ""); got.Code != http.StatusServiceUnavailable ||
		!strings.Contains(got.Body.String(), `"reason":"draining"`) {
		t.Errorf("while draining it says %d %s", got.Code, got.Body)
	}
	expect(t, b.send(http.MethodGet, "/healthz", "", ""), http.StatusOK, `{"status":"alive"}`)
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	b := setup(t)
	made := b.send(http.MethodGet, "/api", "", "").Header().Get("X-Request-Id")
	if !regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7`).MatchString(made) {
		t.Errorf("made id %q is no UUIDv7", made)
	}
	for given, kept := range map[string]bool{"abc-1": true, "a\tb": false, strings.Repeat("x", 129): false} {
		r := request(http.MethodGet, "/api", "", "")
		r.Header.Set("X-Request-Id", given)
		if got := b.sendRequest(r).Header().Get("X-Request-Id"); (got == given) != kept {
			t.Errorf("%q: got %q", given, got)
		}
	}
}

// Each request logs one line with the caller, the route, the session, the turn, and the outcome.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.next.turnID = "turn-9"
	r := request(http.MethodPost, "/api/sessions/"+knownID+"/messages", "application/json", `{"text":"x"}`)
	r.Header.Set("X-Request-Id", "req-1")
	r.Header.Set("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	b.sendRequest(r)
	var line map[string]any
	if err := json.Unmarshal(b.log.Bytes(), &line); err != nil {
		t.Fatalf("%v in %s", err, b.log)
	}
	for name, want := range map[string]any{
		"level": "info", "message": "request", "method": "POST", "path": "/api/sessions/" + knownID + "/messages",
		"status": 202.0, "request_id": "req-1", "session_id": knownID, "turn_id": "turn-9",
		"trace_id": "0af7651916cd43dd8448eb211c80319c",
	} {
		if line[name] != want {
			t.Errorf("%s: got %v, want %v", name, line[name], want)
		}
	}
}

func TestPanicIsLoggedAndHidden(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.panics = true
	r := request(http.MethodPost, "/api/sessions/"+knownID+"/archive", "", "")
	r.Header.Set("X-Request-Id", "req-2")
	expect(t, b.sendRequest(r), http.StatusInternalServerError,
		`{"status":"error","code":"internal_error","message":"internal server error"}`)
	if log := b.log.String(); !strings.Contains(log, `"panic":"boom"`) || !strings.Contains(log, `"request_id":"req-2"`) ||
		!strings.Contains(log, `"status":500`) {
		t.Errorf("the log does not mention the panic: %s", log)
	}
}

// The guard gets every request, with its id and logger in place, and can refuse it.
func TestGuardOption(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *parts) {
		o.Guard = func(http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Error(w, telemetry.IDsFrom(r.Context()).Request, http.StatusForbidden)
			})
		}
	})
	got := b.send(http.MethodGet, "/api/projects", "", "")
	if got.Code != http.StatusForbidden || strings.TrimSpace(got.Body.String()) != got.Header().Get("X-Request-Id") {
		t.Errorf("got %d %q", got.Code, got.Body)
	}
}

func TestMetricsMount(t *testing.T) {
	t.Parallel()
	expect(t, setup(t).send(http.MethodGet, "/metrics", "", ""), http.StatusNotFound,
		`{"message":"Route GET:/metrics not found","error":"Not Found","statusCode":404}`)
	b := setup(t, func(o *parts) {
		o.Metrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("m 1\n")) })
	})
	expect(t, b.send(http.MethodGet, "/metrics", "", ""), http.StatusOK, "m 1\n")
}
