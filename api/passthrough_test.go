package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/api"
	"harness/runtime"
)

// TestProviderCalls: what the runtime is asked, parameter for parameter.
func TestProviderCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, target, body, want string }{
		{"GET", "/api/models?limit=2&cursor=true&x=1", "", `model/list {"cursor":"true","limit":2}`},
		{"GET", "/api/models", "", `model/list {}`},
		{"GET", "/api/apps?limit=5&threadId=T&forceRefetch=true", "", `app/list {"limit":5,"threadId":"T","forceRefetch":true}`},
		{"GET", "/api/skills?cwd=/tmp&forceReload=false", "", `skills/list {"cwds":["/tmp"],"forceReload":false}`},
		{"GET", "/api/skills", "", `skills/list {}`},
		{"GET", "/api/account/rate-limits", "", `account/rateLimits/read`},
		{"GET", "/api/account", "", `account/read {}`},
		{"POST", "/api/account/logout", "", `account/logout`},
		{"POST", "/api/mcp/reload", `{"a":1}`, `config/mcpServer/reload`},
		{"POST", "/api/mcp/servers/a%2Fb/oauth/login", `{"scopes":[" s "],"timeoutSecs":"5"}`, `mcpServer/oauth/login {"name":"a/b","scopes":["s"],"timeoutSecs":5}`},
		{"POST", "/api/config/value", `{"keyPath":"k","mergeStrategy":"replace","value":{"z":1.50,"a":[null]},"other":1}`,
			`config/value/write {"keyPath":"k","mergeStrategy":"replace","value":{"z":1.50,"a":[null]}}`},
		{"POST", "/api/commands/exec", `{"command":["ls","-l"],"timeoutMs":"300"}`, `command/exec {"command":["ls","-l"],"timeoutMs":300}`},
		{"POST", "/api/account/login/start", `{"type":"apiKey","apiKey":" k ","x":1}`, `account/login/start {"type":"apiKey","apiKey":"k"}`},
		{"POST", "/api/sessions/" + knownID + "/compact", "", `thread/compact/start {"threadId":"` + knownID + `"}`},
		{"POST", "/api/sessions/" + knownID + "/review", "", `review/start {"threadId":"` + knownID + `","target":{"type":"custom","instructions":"Review this thread's current changes."}}`},
		{"POST", "/api/sessions/" + knownID + "/review", `{"targetType":"commit","delivery":"inline"}`,
			`review/start {"threadId":"` + knownID + `","delivery":"inline","target":{"type":"commit","sha":""}}`},
		{"POST", "/api/sessions/" + knownID + "/turns/t1/steer", `{"input":" go "}`,
			`turn/steer {"threadId":"` + knownID + `","input":[{"type":"text","text":"go"}],"expectedTurnId":"t1"}`},
	} {
		b := setup(t)
		b.runtime.result = json.RawMessage(`{"data":[]}`)
		contentType := ""
		if c.body != "" {
			contentType = "application/json"
		}
		got := b.send(c.method, c.target, contentType, c.body)
		if got.Code != http.StatusOK || !slices.Equal(b.runtime.calls, []string{c.want}) {
			t.Errorf("%s %s %s: %d %s\ngot  %q\nwant %q", c.method, c.target, c.body, got.Code, got.Body, b.runtime.calls, c.want)
		}
	}
}

// TestRollbackBothWays: codex 0.101 counts turns, 0.169 has to be told which turn goes first.
func TestRollbackBothWays(t *testing.T) {
	t.Parallel()
	const target = "/api/sessions/" + knownID + "/rollback"
	old := setup(t)
	old.runtime.result = json.RawMessage(`{"thread":{}}`)
	expect(t, old.post(target, `{"numTurns":"2"}`), http.StatusOK, `{"status":"ok","sessionId":"`+knownID+`","result":{"thread":{}}}`)
	if want := []string{`thread/rollback {"threadId":"` + knownID + `","numTurns":2}`}; !slices.Equal(old.runtime.calls, want) {
		t.Errorf("got %q", old.runtime.calls)
	}

	gone := &runtime.Error{Runtime: "codex", Method: "thread/rollback", Code: -32600, Message: "Invalid request: unknown variant `thread/rollback`"}
	newer := setup(t)
	newer.runtime.refused = map[string][]error{"thread/rollback": {gone, gone, gone}}
	newer.runtime.answers = map[string]json.RawMessage{
		"thread/read": json.RawMessage(`{"thread":{"turns":[{"id":"a"},{"id":"b"},{"id":"c"}]}}`), "thread/revert": json.RawMessage(`{"reverted":true}`),
	}
	expect(t, newer.post(target, `{"numTurns":2}`), http.StatusOK, `{"status":"ok","sessionId":"`+knownID+`","result":{"reverted":true}}`)
	if last := newer.runtime.calls[len(newer.runtime.calls)-1]; last != `thread/revert {"threadId":"`+knownID+`","beforeTurnId":"b"}` {
		t.Errorf("got %s", last)
	}
	newer.runtime.answers["thread/read"] = json.RawMessage(`{"thread":{"status":{"type":"active"},"turns":[{"id":"a"}]}}`)
	if got := newer.post(target, `{}`); got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), `"code":"invalid_state"`) {
		t.Errorf("while a turn runs: got %d %s", got.Code, got.Body)
	}
	newer.runtime.answers["thread/read"] = json.RawMessage(`{"thread":{"turns":[{"id":"a"},{"id":"b"},{"id":"c"}]}}`)
	if got := newer.post(target, `{"numTurns":4}`); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), `"path":["numTurns"]`) {
		t.Errorf("more turns than there are: got %d %s", got.Code, got.Body)
	}
}

// TestForkTakesIn: the fork answers as a session of ours.
func TestForkTakesIn(t *testing.T) {
	t.Parallel()
	const fork = "01a1fbb7-eea4-7142-a348-ea8dd275d776"
	b := setup(t)
	b.runtime.result = json.RawMessage(`{"thread":{"id":"` + fork + `","turns":[]},"model":"m"}`)
	got := b.post("/api/sessions/"+knownID+"/fork", `{}`)
	want := `{"status":"ok","sourceSessionId":"` + knownID + `","session":{"sessionId":"` + fork + `",`
	if got.Code != http.StatusOK || !strings.HasPrefix(got.Body.String(), want) || !strings.HasSuffix(got.Body.String(), `"thread":{"id":"`+fork+`","turns":[]}}`) {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// TestUnloadedThread: after a restart the runtime must load a conversation before it can act on it; the client does not notice.
func TestUnloadedThread(t *testing.T) {
	t.Parallel()
	b := setup(t)
	lost := &runtime.Error{Runtime: "codex", Method: "thread/compact/start", Code: -32600, Message: "thread not found", Kind: runtime.ErrThreadNotFound}
	b.runtime.refused = map[string][]error{"thread/compact/start": {lost}}
	b.runtime.result = json.RawMessage(`{}`)
	expect(t, b.post("/api/sessions/"+knownID+"/compact", `{}`), http.StatusOK, `{"status":"ok","sessionId":"`+knownID+`","result":{}}`)
	if len(b.runtime.calls) != 2 {
		t.Errorf("got calls %q", b.runtime.calls)
	}
}

func TestNoRuntime(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *api.Options) { o.Runtime = nil })
	for _, target := range []string{"/api/models", "/api/account"} {
		if got := b.send(http.MethodGet, target, "", ""); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "runtime_unavailable") {
			t.Errorf("%s: got %d %s", target, got.Code, got.Body)
		}
	}
	if got := b.post("/api/sessions/"+knownID+"/turns/t/steer", `{"input":"x"}`); got.Code != http.StatusServiceUnavailable {
		t.Errorf("steer: got %d %s", got.Code, got.Body)
	}
}
