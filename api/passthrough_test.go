package api_test

import (
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
)

// TestProviderCalls checks the calls to the runtime, parameter by parameter.
func TestProviderCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, target, body, want string }{
		{"GET", "/api/models?limit=2&cursor=true&x=1", "", `model/list {"cursor":"true","limit":2}`},
		{"GET", "/api/models", "", `model/list {}`},
		{"GET", "/api/apps?limit=5&threadId=T&forceRefetch=true", "",
			`app/list {"limit":5,"threadId":"T","forceRefetch":true}`},
		{"GET", "/api/skills?cwd=/tmp&forceReload=false", "", `skills/list {"cwds":["/tmp"],"forceReload":false}`},
		{"GET", "/api/skills", "", `skills/list {}`},
		{"GET", "/api/account/rate-limits", "", `account/rateLimits/read`},
		{"GET", "/api/account", "", `account/read {}`},
		{"POST", "/api/account/logout", "", `account/logout`},
		{"POST", "/api/mcp/reload", `{"a":1}`, `config/mcpServer/reload`},
		{"POST", "/api/mcp/servers/a%2Fb/oauth/login", `{"scopes":[" s "],"timeoutSecs":"5"}`,
			`mcpServer/oauth/login {"name":"a/b","scopes":["s"],"timeoutSecs":5}`},
		{"POST", "/api/config/value", `{"keyPath":"k","mergeStrategy":"replace","value":{"z":1.50,"a":[null]},"other":1}`,
			`config/value/write {"keyPath":"k","mergeStrategy":"replace","value":{"z":1.50,"a":[null]}}`},
		{"POST", "/api/commands/exec", `{"command":["ls","-l"],"timeoutMs":"300"}`,
			`command/exec {"command":["ls","-l"],"timeoutMs":300}`},
		{"POST", "/api/account/login/start", `{"type":"apiKey","apiKey":" k ","x":1}`,
			`account/login/start {"type":"apiKey","apiKey":"k"}`},
		{"POST", "/api/sessions/" + knownID + "/compact", "", `thread/compact/start {"threadId":"` + knownID + `"}`},
	} {
		b := setup(t)
		b.runtime.result = json.RawMessage(`{"data":[]}`)
		contentType := ""
		if c.body != "" {
			contentType = "application/json"
		}
		got := b.send(c.method, c.target, contentType, c.body)
		if got.Code != http.StatusOK || !slices.Equal(b.runtime.calls, []string{c.want}) {
			t.Errorf("%s %s %s: %d %s\ngot  %q\nwant %q", c.method, c.target, c.body, got.Code, got.Body,
				b.runtime.calls, c.want)
		}
	}
}

// A missing login of codex is distinct from a wrong token for this server: by code, by message, and without a request
// for another token.
func TestMissingRuntimeLoginDiffersFromWrongServerToken(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"GET /api/account/rate-limits", "GET /api/models", "GET /api/account", "POST /api/sessions/" + knownID + "/compact"} {
		b := setup(t)
		b.runtime.fail = codex.Refusal("account/rateLimits/read", -32603, "failed to fetch codex rate limits: 401 Unauthorized")
		method, path, _ := strings.Cut(target, " ")
		got := b.send(method, path, "", "")
		var body struct{ Code, Message string }
		if err := json.Unmarshal(got.Body.Bytes(), &body); err != nil || got.Code != http.StatusUnauthorized ||
			got.Header().Get("WWW-Authenticate") != "" || body.Code != "auth_required" {
			t.Errorf("%s: %d %v %s", target, got.Code, got.Header(), got.Body)
		}
		for _, words := range []string{"the login of codex", "not your token for this server", "harness login"} {
			if !strings.Contains(body.Message, words) {
				t.Errorf("%s says %q, without %q", target, body.Message, words)
			}
		}
	}
}

// TestRollback: one turn by default, the runtime's response, and its message about an unknown session.
func TestRollback(t *testing.T) {
	t.Parallel()
	const target = "/api/sessions/" + knownID + "/rollback"
	b := setup(t)
	b.sessions.next.result = json.RawMessage(`{"thread":{}}`)
	for body, want := range map[string]int{`{}`: 1, `{"numTurns":"2"}`: 2} {
		expect(t, b.post(target, body), http.StatusOK, `{"status":"ok","sessionId":"`+knownID+`","result":{"thread":{}}}`)
		if got := b.sessions.rolledBack; got != want {
			t.Errorf("%s rolls back %d turns, want %d", body, got, want)
		}
	}
	b.sessions.fail = &runtime.TooFewTurnsError{Have: 3}
	if got := b.post(target, `{"numTurns":4}`); got.Code != http.StatusBadRequest ||
		!strings.Contains(got.Body.String(), `"path":["numTurns"]`) {
		t.Errorf("more turns than there are: got %d %s", got.Code, got.Body)
	}
	b.sessions.fail = nil
	expect(t, b.post("/api/sessions/"+unknownID+"/rollback", `{}`), http.StatusNotFound,
		`{"status":"not_found","sessionId":"`+unknownID+`"}`)
}

// TestForkReturnsOwnSession: the fork is returned as a session of this server.
func TestForkReturnsOwnSession(t *testing.T) {
	t.Parallel()
	const fork = "01a1fbb7-eea4-7142-a348-ea8dd275d776"
	b := setup(t)
	b.runtime.result = json.RawMessage(`{"thread":{"id":"` + fork + `","turns":[]},"model":"m"}`)
	got := b.post("/api/sessions/"+knownID+"/fork", `{}`)
	want := `{"status":"ok","sourceSessionId":"` + knownID + `","session":{"sessionId":"` + fork + `",`
	if got.Code != http.StatusOK || !strings.HasPrefix(got.Body.String(), want) ||
		!strings.HasSuffix(got.Body.String(), `"thread":{"id":"`+fork+`","turns":[]}}`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// The target of a review, and the input of a steered turn, reach the operation unchanged.
func TestReviewAndSteerReachOperation(t *testing.T) {
	t.Parallel()
	custom := runtime.Review{Target: runtime.ReviewCustom, Instructions: "Review this thread's current changes."}
	for body, want := range map[string]runtime.Review{
		"":                                    custom,
		`{"targetType":"custom"}`:             custom,
		`{"instructions":" all "}`:            {Target: runtime.ReviewCustom, Instructions: "all"},
		`{"targetType":"uncommittedChanges"}`: {Target: runtime.ReviewUncommitted},
		`{"targetType":"baseBranch","branch":"main"}`: {Target: runtime.ReviewBranch, Branch: "main"},
		`{"targetType":"commit","delivery":"inline","title":"T"}`: {Target: runtime.ReviewCommit, Delivery: "inline",
			Title: "T"},
	} {
		b := setup(t)
		b.runtime.result = json.RawMessage(`{}`)
		contentType := "application/json"
		if body == "" {
			contentType = ""
		}
		got := b.send(http.MethodPost, "/api/sessions/"+knownID+"/review", contentType, body)
		if got.Code != http.StatusOK || !reflect.DeepEqual(b.sessions.received, []any{want}) {
			t.Errorf("%s: %d %s, got %+v, want %+v", body, got.Code, got.Body, b.sessions.received, want)
		}
	}
	b := setup(t)
	b.post("/api/sessions/"+knownID+"/turns/t1/steer", `{"input":" go "}`)
	if want := []any{"t1: go"}; !reflect.DeepEqual(b.sessions.received, want) {
		t.Errorf("got %q, want %q", b.sessions.received, want)
	}
}

func TestNoRuntime(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *parts) { o.Runtime = nil })
	for _, target := range []string{"/api/models", "/api/account"} {
		if got := b.send(http.MethodGet, target, "", ""); got.Code != http.StatusServiceUnavailable ||
			!strings.Contains(got.Body.String(), "runtime_unavailable") {
			t.Errorf("%s: got %d %s", target, got.Code, got.Body)
		}
	}
}
