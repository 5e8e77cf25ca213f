package access

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"harness/api"
	"harness/tests/polling"
	"harness/tests/programtest"
)

// asked is the content of an audit log row about a request.
type asked struct {
	Actor, Role, Route, Outcome string
	Status                      int
}

func (a asked) String() string {
	return fmt.Sprintf("%s by %q as %q: %s (%d)", a.Route, a.Actor, a.Role, a.Outcome, a.Status)
}

// requestsOf returns the rows of requests in the log, and the log itself.
func requestsOf(t *testing.T, s *programtest.Site) (rows []asked, log string) {
	t.Helper()
	code, log := s.Command("audit", "export")
	if code != 0 {
		t.Fatalf("audit export ended with %d: %s", code, log)
	}
	for line := range strings.Lines(log) {
		var row struct {
			Kind   string
			Actor  string
			Role   string
			Detail struct {
				Route, Outcome string
				Status         int
			}
		}
		if json.Unmarshal([]byte(line), &row) == nil && row.Kind == "request.answered" {
			rows = append(rows, asked{row.Actor, row.Role, row.Detail.Route, row.Detail.Outcome, row.Detail.Status})
		}
	}
	return rows, log
}

// walk sends every request in a server's route tables that may change something, and returns the rows that the log
// must get.
type walk struct {
	*programtest.Server
	want []asked
}

// canary is part of every request body.
const canary = "planted-body-5e1d"

func (w *walk) ask(method, route, path, actor, role, token string) {
	w.T.Helper()
	w.Headers = map[string]string{}
	if token != "" {
		w.Headers["Authorization"] = "Bearer " + token
	}
	status, _, err := w.Try(method, path, programtest.Object{"canary": canary})
	if err != nil {
		w.T.Fatal(err)
	}
	outcome := "ok"
	switch {
	case status >= http.StatusInternalServerError:
		outcome = "failed"
	case status >= http.StatusBadRequest:
		outcome = "refused"
	}
	w.want = append(w.want, asked{actor, role, method + " " + route, outcome, status})
}

func (w *walk) call(method, actor, role, token string) {
	w.T.Helper()
	w.Headers = map[string]string{"Authorization": "Bearer " + token}
	status, answer := w.Call(http.MethodPost, "/rpc", programtest.Object{"jsonrpc": "2.0", "id": 1, "method": method,
		"params": programtest.Object{"session_id": "none", "prompt": canary}})
	if status != http.StatusOK {
		w.T.Fatalf("%s is answered %d %v", method, status, answer)
	}
	outcome := "ok"
	if failure, failed := answer["error"].(programtest.Object); failed {
		outcome = "refused"
		if failure["code"] == float64(-32603) {
			outcome = "failed"
		}
	}
	w.want = append(w.want, asked{actor, role, method, outcome, 0})
}

// Every route that may change something leaves a record of the caller and the outcome, even when it refuses. The test
// takes the routes from the server, so it fails for a later route without a record.
func TestEveryChangeLeavesARecord(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-this-very-test-0123456789"
	s := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+token, "HARNESS_TOOLS=workspace.read"))
	w := walk{Server: s.Start()}
	w.AwaitRuntime()
	w.Headers = map[string]string{"Authorization": "Bearer " + token}
	viewer, _ := w.Want(http.StatusOK, http.MethodPost, "/api/tokens",
		programtest.Object{"name": "looker", "role": "viewer"})["secret"].(string)
	if viewer == "" {
		t.Fatal("no named token was made")
	}
	callers := []struct{ actor, role, token string }{
		{"token", "owner", token}, {"token:looker", "viewer", viewer}, {"anonymous", "", ""},
	}
	methods, _ := w.Want(http.StatusOK, http.MethodGet, "/rpc/openrpc.json", nil)["methods"].([]any)
	for _, caller := range callers {
		for _, operation := range api.Operations() {
			if operation.OwnRecords != (operation.Method == http.MethodPost && operation.Path == "/rpc") {
				t.Errorf("%s %s is to record itself; only the methods of JSON-RPC do", operation.Method, operation.Path)
			}
			if operation.Method == http.MethodGet || operation.Path == "/rpc" {
				continue
			}
			path := strings.NewReplacer("{", "", "}", "").Replace(operation.Path)
			role := caller.role
			if caller.token == "" && (path == "/api/login" || path == "/api/logout" || strings.HasPrefix(path, "/api/login/oidc/")) {
				role = "viewer" // open servers admit any caller as a viewer
			}
			w.ask(operation.Method, operation.Path, path, caller.actor, role, caller.token)
		}
		for _, one := range methods {
			method, _ := one.(programtest.Object)
			if name, _ := method["name"].(string); method["x-role"] != "viewer" && caller.token != "" {
				w.call(name, caller.actor, caller.role, caller.token)
			}
		}
	}
	w.ask(http.MethodPost, "/rpc", "/rpc", "anonymous", "", "")
	w.ask(http.MethodPost, "/mcp", "/mcp", "anonymous", "viewer", "")
	if len(w.want) < 3*80 {
		t.Errorf("only %d requests were made: the route tables are not read", len(w.want))
	}
	w.requireRows(s)
	w.Stop()
	_, log := requestsOf(t, s)
	for _, secret := range []string{canary, token, viewer} {
		if strings.Contains(log, secret) {
			t.Errorf("the log has %q, which was in a request", secret)
		}
	}
	if out := s.MustRun("audit", "verify"); !strings.Contains(out, "is whole") {
		t.Error(out)
	}
}

// requireRows waits for the rows of all requests, and names the missing ones.
func (w *walk) requireRows(s *programtest.Site) {
	w.T.Helper()
	var missing []asked
	polling.Until(30*time.Second, func() bool {
		rows, _ := requestsOf(w.T, s)
		missing = slices.DeleteFunc(slices.Clone(w.want), func(one asked) bool { return slices.Contains(rows, one) })
		return len(missing) == 0
	})
	for _, one := range missing {
		w.T.Errorf("no record: %s", one)
	}
}

// A turn refused by a model provider is recorded with the provider's status. A task of the task API, its message and
// its requests name the caller.
func TestErrorsOfRuntimesAndTasksAreRecorded(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN=the-token-of-this-very-test"))
	server := s.Start()
	server.Headers = map[string]string{"Authorization": "Bearer the-token-of-this-very-test"}
	secret, _ := server.Want(http.StatusOK, http.MethodPost, "/api/tokens",
		programtest.Object{"name": "ann", "role": "operator"})["secret"].(string)
	server.Headers["Authorization"] = "Bearer " + secret
	failures := map[int]string{http.StatusUnauthorized: `"kind":"auth_required","providerStatus":401`,
		http.StatusTooManyRequests:     `"kind":"limit_reached","providerStatus":429`,
		http.StatusInternalServerError: `"kind":"provider_failed"`} // codex does not pass on a status for it
	want := []string{`"actor":"token:ann","role":"operator","kind":"request.answered","detail":{"protocol":"tasks",` +
		`"route":"POST /v1/sessions/{sessionId}/tasks","params":{"sessionId":"`, `"task_id":"task-of-ann","status":202,"outcome":"ok"`,
		`"actor":"token:ann","kind":"message.sent"`}
	for status, recorded := range failures {
		server.Send(server.CreateSession(nil), fmt.Sprintf("MOCK_HTTP_%d[planted-words]", status))
		want = append(want, recorded)
	}
	session, _ := server.Want(http.StatusCreated, http.MethodPost, "/v1/sessions", programtest.Object{})["session_id"].(string)
	server.Want(http.StatusAccepted, http.MethodPost, "/v1/sessions/"+session+"/tasks", programtest.Object{
		"task_id": "task-of-ann", "messages": []any{programtest.Object{"role": "user", "content": "MOCK_REPLY[done]"}}})
	var log string
	var missing []string
	polling.Until(time.Minute, func() bool {
		_, log = s.Command("audit", "export")
		missing = slices.DeleteFunc(slices.Clone(want), func(one string) bool { return strings.Contains(log, one) })
		return len(missing) == 0
	})
	if len(missing) > 0 {
		t.Errorf("no record has %s\nthe log: %s", strings.Join(missing, "\nnor "), log)
	}
	if strings.Contains(log, "planted-words") {
		t.Error("the log has words of the provider, which may have a part of a key")
	}
}
