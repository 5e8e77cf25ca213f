package calls_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"harness/api/calls"
	"harness/internal/platform/auth"
	"harness/internal/services/audit"
)

// log collects the records.
type log struct{ all []audit.Call }

// Record implements calls.Sink.
func (l *log) Record(call audit.Call, _ string) { l.all = append(l.all, call) }

// ask sends one request through a guard that requires a token, and returns the records.
func ask(t *testing.T, method string, admitted bool, route calls.Route, answer http.HandlerFunc) []audit.Call {
	t.Helper()
	recorded := &log{}
	guard := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !admitted {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			next.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(),
				auth.Principal{Actor: "token:ann", Role: auth.RoleMember})))
		})
	}
	handler := calls.Middleware(recorded, func(*http.Request) (calls.Route, bool) { return route, route.Name != "" },
		guard(calls.Admit(answer)))
	func() {
		defer func() { _ = recover() }() // a handler may take over its connection
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(method, "/x", strings.NewReader("a body")))
	}()
	return recorded.all
}

// A record has the caller, the route and the outcome. For a refused caller it contains no data that the caller could
// choose.
func TestRequestsAreRecorded(t *testing.T) {
	route := calls.Route{Protocol: "rest", Name: "POST /x/{sessionId}",
		Params: map[string]string{"sessionId": strings.Repeat("s", 300)}}
	own := route
	own.OwnRecords = true
	long := strings.Repeat("s", 200)
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			calls.Failed(r.Context(), "a_code")
			w.WriteHeader(code)
		}
	}
	ann := func(outcome string, status int, code string) audit.Call {
		return audit.Call{Actor: "token:ann", Role: "viewer", SessionID: long, Protocol: "rest", Route: route.Name,
			Params: `{"sessionId":"` + long + `"}`, Outcome: outcome, Status: status, Code: code}
	}
	made := ann("ok", 200, "")
	made.SessionID, made.TaskID = "made", "task"
	stranger := audit.Call{Actor: "anonymous", Protocol: "rest", Route: route.Name, Outcome: "refused", Status: 401}
	for name, one := range map[string]struct {
		method   string
		admitted bool
		route    calls.Route
		answer   http.HandlerFunc
		want     []audit.Call
	}{
		"without a response": {http.MethodPost, true, route, func(http.ResponseWriter, *http.Request) {}, []audit.Call{ann("ok", 200, "")}},
		"a limit":            {http.MethodPatch, true, route, status(429), []audit.Call{ann("refused", 429, "a_code")}},
		"a failure":          {http.MethodDelete, true, route, status(500), []audit.Call{ann("failed", 500, "a_code")}},
		"a created object": {http.MethodPost, true, route, func(_ http.ResponseWriter, r *http.Request) {
			calls.About(r.Context(), "made", "task")
		}, []audit.Call{made}},
		"cut off": {http.MethodPost, true, route, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			[]audit.Call{ann("aborted", 0, "")}},
		"a stranger":                {http.MethodPost, false, route, nil, []audit.Call{stranger}},
		"a stranger at own records": {http.MethodPost, false, own, nil, []audit.Call{stranger}},
		"own records":               {http.MethodPost, true, own, status(200), nil},
		"no route":                  {http.MethodPost, true, calls.Route{}, status(404), nil},
		"reading":                   {http.MethodGet, true, route, status(200), nil},
		"reading, as a stranger":    {http.MethodHead, false, route, nil, nil},
		"asking what may be done":   {http.MethodOptions, true, route, status(204), nil},
		"an answer before the answer": {http.MethodPost, true, route, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.WriteHeader(http.StatusAccepted)
		}, []audit.Call{ann("ok", 202, "")}},
	} {
		got := ask(t, one.method, one.admitted, one.route, one.answer)
		if len(got) != len(one.want) || len(got) == 1 && got[0] != one.want[0] {
			t.Errorf("%s: recorded %+v\nwant %+v", name, got, one.want)
		}
	}
}

// The sink that records a socket's request also records the calls on that socket. Without one, the calls are not
// recorded.
func TestSocketCallsAreRecorded(t *testing.T) {
	recorded := &log{}
	calls.Middleware(recorded, nil, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		outlives := context.WithoutCancel(r.Context())
		calls.Record(outlives, auth.Principal{Actor: "token:ann", Role: auth.RoleOperator}, audit.Call{Route: "session/send"})
		calls.Record(t.Context(), auth.Principal{}, audit.Call{Route: "session/stop"})
	})).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/rpc", nil))
	want := audit.Call{Actor: "token:ann", Role: "operator", Route: "session/send"}
	if len(recorded.all) != 1 || recorded.all[0] != want {
		t.Errorf("recorded %+v, want %+v", recorded.all, want)
	}
}
