package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/api"
	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/stdio"
	"harness/internal/services/session"
	"harness/tests/runtimetest/scripted"
)

// A new session names its runtime. An unknown one is refused with the known names, an unavailable one with the
// remedy.
func TestRuntimeOfANewSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.next.session.Runtime = "other"
	answer := b.send(http.MethodPost, "/api/sessions", "application/json", `{"runtime":" other "}`)
	if answer.Code != http.StatusOK || b.sessions.created[0].Runtime != "other" ||
		!strings.Contains(answer.Body.String(), `"runtime":"other"`) {
		t.Errorf("%d %s after %+v", answer.Code, answer.Body, b.sessions.created)
	}
	if b.send(http.MethodPost, "/api/sessions", "application/json", `{}`); b.sessions.created[1].Runtime != "" {
		t.Errorf("got %q where the body names no runtime", b.sessions.created[1].Runtime)
	}
	for _, body := range []string{`{"runtime":""}`, `{"runtime":7}`, `{"runtime":"` + strings.Repeat("x", 101) + `"}`} {
		if answer := b.send(http.MethodPost, "/api/sessions", "application/json",
			body); answer.Code != http.StatusBadRequest {
			t.Errorf("%s: %d", body, answer.Code)
		}
	}
	b.sessions.fail = &session.UnknownRuntimeError{Runtime: "cohdex", Known: []string{"codex", "other"}}
	unknown := b.send(http.MethodPost, "/api/sessions", "application/json", `{"runtime":"cohdex"}`)
	if text := unknown.Body.String(); unknown.Code != http.StatusBadRequest || !strings.Contains(text, "codex, other") ||
		!strings.Contains(text, `"path":["runtime"]`) {
		t.Errorf("%d %s", unknown.Code, text)
	}
	b.sessions.fail = fmt.Errorf("%w: other is missing: install it", runtime.ErrUnavailable)
	away := b.send(http.MethodPost, "/api/sessions", "application/json", `{"runtime":"other"}`)
	if text := away.Body.String(); away.Code != http.StatusServiceUnavailable || !strings.Contains(text, "install it") ||
		!strings.Contains(text, "runtime_unavailable") {
		t.Errorf("%d %s", away.Code, text)
	}
}

// A message above a limit is refused with the limit and the time to retry. RA-28
func TestMessageAboveLimitIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.sessions.next.session = session.Session{ID: "s", Title: "A chat"}
	b.sessions.fail = &session.LimitError{Runtime: "codex", SessionID: "s", Limit: 256,
		Setting: "HARNESS_RUNTIME_LIMITS"}
	answer := b.send(http.MethodPost, "/api/sessions", "application/json", `{}`)
	want := `"details":{"runtime":"codex","sessionId":"s","limit":256,"setting":"HARNESS_RUNTIME_LIMITS"}`
	if text := answer.Body.String(); answer.Code != http.StatusTooManyRequests ||
		answer.Header().Get("Retry-After") != "5" ||
		!strings.Contains(text, `"code":"limit_reached"`) || !strings.Contains(text, "HARNESS_RUNTIME_LIMITS") ||
		!strings.Contains(text, want) {
		t.Errorf("%d, Retry-After %q, %s", answer.Code, answer.Header().Get("Retry-After"), text)
	}
}

// A client retries a turn by its id. A refusal has the reason.
func TestTurnRetry(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const path = "/api/sessions/" + knownID + "/turns/t1/retry"
	if got := b.send(http.MethodPost, path, "", ""); got.Code != http.StatusAccepted ||
		got.Body.String() != `{"status":"accepted","sessionId":"`+knownID+`","turnId":"after t1 of `+knownID+`"}` {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	b.sessions.fail = &session.NotRetryableError{SessionID: knownID, TurnID: "t1", Reason: "a tool has run in it"}
	if got := b.send(http.MethodPost, path, "", ""); got.Code != http.StatusConflict ||
		!strings.Contains(got.Body.String(), `"code":"not_retryable"`) ||
		!strings.Contains(got.Body.String(), `"details":{"sessionId":"`+knownID+
			`","turnId":"t1","reason":"a tool has run in it"}`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A new session sets which files its agent reads by itself, and lists them with their changes.
func TestImplicitSourcesOfSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if b.send(http.MethodPost, "/api/sessions", "application/json",
		`{"implicitSources":"home"}`); b.sessions.created[0].ImplicitSources != "home" {
		t.Errorf("opened with %+v", b.sessions.created)
	}
	if got := b.send(http.MethodPost, "/api/sessions", "application/json",
		`{"implicitSources":"some"}`); got.Code != http.StatusBadRequest {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	want := `{"sessionId":"` + knownID +
		`","implicitSources":"all","choices":["all","home"],"data":[{"path":"/w/AGENTS.md","kind":"instructions","scope":"folder","bytes":3,` +
		`"sha256":"aa","state":"changed","began":{"bytes":2,"sha256":"bb"}}]}`
	if got := b.send(http.MethodGet, "/api/sessions/"+knownID+"/sources", "", ""); got.Code != http.StatusOK ||
		got.Body.String() != want {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// A list can be limited to one runtime.
func TestListFilteredByRuntime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if b.send(http.MethodGet, "/api/sessions?runtime=other&q=x", "", ""); b.sessions.listed.Runtime != "other" ||
		b.sessions.listed.Text != "x" {
		t.Errorf("listed %+v", b.sessions.listed)
	}
	if answer := b.send(http.MethodGet, "/api/sessions?runtime=", "", ""); answer.Code != http.StatusBadRequest {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

// twoRuntimes are codex, which the bundle's runtime serves, and another one. Neither is started.
type twoRuntimes struct{ adapters []runtime.Adapter }

func (r twoRuntimes) Runtimes() (names []string) {
	for _, adapter := range r.adapters {
		names = append(names, adapter.Name())
	}
	return names
}

func (r twoRuntimes) Load(string) session.Load {
	return session.Load{Limits: session.RuntimeLimits{Turns: 2, Messages: 8, SessionMessages: 4}, Turns: 1, Messages: 3,
		Waiting: 1}
}

func (r twoRuntimes) Chosen(name string) (runtime.Adapter, error) {
	for _, adapter := range r.adapters {
		if name == "" || adapter.Name() == name {
			return adapter, nil
		}
	}
	return nil, &session.UnknownRuntimeError{Runtime: name, Known: r.Runtimes()}
}

const plantedToken = "token-4711-planted"

func setupTwo(t *testing.T) *harnessBundle {
	t.Helper()
	own := codex.New(codex.Options{Bin: "/nowhere/codex", Home: t.TempDir(),
		Setup: stdio.Setup{Launch: stdio.Launch{Inherits: func(string) bool { return false }}}})
	other := scripted.New(scripted.Options{Env: []string{scripted.TokenVariable + "=" + plantedToken}})
	b := setup(t, func(p *parts) { p.Runtimes = twoRuntimes{[]runtime.Adapter{own, other}} })
	b.runtime.result = json.RawMessage(`{"data":[{"id":"of codex"}]}`)
	return b
}

// codex-only routes refuse another runtime by name without a call to codex. Without a name, or for codex, they return
// codex's response.
func TestRoutesOfOneProvider(t *testing.T) {
	t.Parallel()
	b := setupTwo(t)
	routes := 0
	for _, operation := range api.Operations() {
		about := slices.ContainsFunc([]string{"/api/account", "/api/config", "/api/skills", "/api/apps", "/api/mcp",
			"/api/commands", "/api/feedback", "/api/features", "/api/collaboration"}, func(prefix string) bool {
			return strings.HasPrefix(operation.Path, prefix)
		})
		if !about {
			continue
		}
		routes++
		body := map[string]string{
			"/api/account/login/start": `{"type":"chatgpt"}`, "/api/account/login/cancel": `{"loginId":"x"}`,
			"/api/skills/config": `{"path":"p","enabled":true}`, "/api/skills/remote": `{"hazelnutId":"h","isPreload":true}`,
			"/api/commands/exec": `{"command":["ls"]}`, "/api/feedback": `{"classification":"c","includeLogs":false}`,
			"/api/config/value": `{"keyPath":"k","mergeStrategy":"replace","value":1}`,
			"/api/config/batch": `{"edits":[{"keyPath":"k","mergeStrategy":"replace","value":1}]}`,
		}[operation.Path]
		kind := "application/json"
		if operation.Method == http.MethodGet {
			body, kind = "", ""
		} else if body == "" {
			body = "{}"
		}
		target := strings.Replace(operation.Path, "{serverName}", "s", 1)
		b.runtime.calls = nil
		refused := b.send(operation.Method, target+"?runtime=scripted", kind, body)
		if text := refused.Body.String(); refused.Code != http.StatusNotImplemented ||
			!strings.Contains(text, `"code":"not_supported"`) ||
			!strings.Contains(text, `"details":{"runtime":"scripted"}`) || len(b.runtime.calls) != 0 {
			t.Errorf("%s %s of another runtime: %d %s, codex got %q", operation.Method, target, refused.Code, text,
				b.runtime.calls)
		}
		unknown := b.send(operation.Method, target+"?runtime=cohdex", kind, body)
		if text := unknown.Body.String(); unknown.Code != http.StatusBadRequest ||
			!strings.Contains(text, "codex, scripted") || len(b.runtime.calls) != 0 {
			t.Errorf("%s %s of an unknown runtime: %d %s", operation.Method, target, unknown.Code, text)
		}
		for _, query := range []string{"", "?runtime=codex"} {
			if b.runtime.calls = nil; b.send(operation.Method, target+query, kind, body).Code != http.StatusOK ||
				len(b.runtime.calls) != 1 ||
				strings.Contains(b.runtime.calls[0], `"runtime"`) {
				t.Errorf("%s %s%s: codex got %q", operation.Method, target, query, b.runtime.calls)
			}
		}
	}
	if routes < 20 {
		t.Errorf("%d routes were tried", routes)
	}
	// A server without codex reports that, instead of a missing codex installation.
	none := setup(t, func(p *parts) {
		p.Runtime = nil
		p.Runtimes = twoRuntimes{[]runtime.Adapter{scripted.New(scripted.Options{})}}
	})
	if got := none.send(http.MethodGet, "/api/account", "", ""); got.Code != http.StatusNotImplemented ||
		!strings.Contains(got.Body.String(), `"runtime":"scripted"`) {
		t.Errorf("without codex: %d %s", got.Code, got.Body)
	}
}

// Models and capabilities belong to the requested runtime, in the format that clients expect.
func TestModelsAndCapabilitiesOfRuntime(t *testing.T) {
	t.Parallel()
	b := setupTwo(t)
	for _, query := range []string{"", "?runtime=codex"} {
		expect(t, b.send(http.MethodGet, "/api/models"+query, "", ""), http.StatusOK,
			`{"data":[{"id":"of codex"}],"nextCursor":null}`)
	}
	quick := `{"id":"quick","model":"quick","displayName":"Quick","description":"","hidden":false,"supportedReasoningEfforts":[],` +
		`"defaultReasoningEffort":null,"inputModalities":["text"],"isDefault":true}`
	thorough := `{"id":"thorough","model":"thorough","displayName":"Thorough","description":"","hidden":false,"supportedReasoningEfforts":` +
		`[{"reasoningEffort":"low","description":""},{"reasoningEffort":"high","description":""}],` +
		`"defaultReasoningEffort":"low","inputModalities":["text"],"isDefault":false}`
	for query, want := range map[string]string{
		"": quick + "," + thorough + `],"nextCursor":null`, "&limit=1": quick + `],"nextCursor":"1"`,
		"&limit=1&cursor=1": thorough + `],"nextCursor":null`,
	} {
		expect(t, b.send(http.MethodGet, "/api/models?runtime=scripted"+query, "", ""), http.StatusOK, `{"data":[`+want+`}`)
	}
	can := b.send(http.MethodGet, "/api/capabilities?runtime=scripted", "", "").Body.String()
	for _, part := range []string{`"initialized":false`, `"thread/fork":"disabled"`,
		`"item/tool/requestUserInput":"available"`, `"toolUserInput":true`,
		`"turnSteer":false`, `"planUpdates":false`, `"reason":"the scripted runtime does not have it"`,
		`"capabilities":{"streaming":true`} {
		if !strings.Contains(can, part) {
			t.Errorf("capabilities without %s: %s", part, can)
		}
	}
	if own := b.send(http.MethodGet, "/api/capabilities", "", "").Body.String(); strings.Contains(own, `"capabilities":`) {
		t.Errorf("codex's answer has a new member: %s", own)
	}
	for _, target := range []string{"/api/models?runtime=cohdex", "/api/capabilities?runtime=cohdex",
		"/api/health?runtime=cohdex", "/api/models?runtime=scripted&cursor=x"} {
		if got := b.send(http.MethodGet, target, "", ""); got.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
	if got := b.send(http.MethodGet, "/api/health?runtime=scripted", "", "").Body.String(); !strings.Contains(got,
		`"credentials":"found"`) {
		t.Errorf("health of one: %s", got)
	}
	if got := b.send(http.MethodGet, "/api/health", "", "").Body.String(); strings.Contains(got, `"credentials"`) {
		t.Errorf("health of all: %s", got)
	}
}

// A runtime's page has its state, capabilities, login and remedy, but no secret.
func TestRuntimes(t *testing.T) {
	t.Parallel()
	b := setupTwo(t)
	list := b.send(http.MethodGet, "/api/runtimes", "", "").Body.String()
	for _, part := range []string{`{"data":[{"name":"codex","default":true,"state":`,
		`"auth":{"state":"missing","credentials":[],"remedy":"set OPENAI_API_KEY`, `"login":true,"logins":["page"]}`,
		`"tested":["0.101.0","0.171.0"]`, `"setting":"CODEX_BIN"`, `"command":"npm install -g @openai/codex"`,
		`{"name":"scripted","default":false,"state":"stopped","reason":"it is not started","version":"7.1",` +
			`"processes":[],"waiting":0,"status":"active","capabilities":{`,
		`"auth":{"state":"found","credentials":["apiKey"],"login":false,"logins":[]}`} {
		if !strings.Contains(list, part) {
			t.Errorf("the list is without %s: %s", part, list)
		}
	}
	one := b.send(http.MethodGet, "/api/runtimes/scripted", "", "").Body.String()
	if !strings.Contains(one, `"models":[{"id":"quick","name":"Quick","default":true,"efforts":[],"images":false}`) ||
		strings.Contains(one, "modelsReason") {
		t.Errorf("one is %s", one)
	}
	if own := b.send(http.MethodGet, "/api/runtimes/codex", "", "").Body.String(); !strings.Contains(own,
		`"models":[],"modelsReason":"`) {
		t.Errorf("one that cannot be asked is %s", own)
	}
	if strings.Contains(list+one+b.log.String(), plantedToken) {
		t.Error("the token is in the response")
	}
	for target, status := range map[string]int{"/api/runtimes/cohdex": http.StatusNotFound,
		"/api/runtimes/cohdex/login":   http.StatusNotFound,
		"/api/runtimes/scripted/login": http.StatusConflict, "/api/runtimes/codex/login": http.StatusServiceUnavailable} {
		method := http.MethodGet
		if strings.HasSuffix(target, "login") {
			method = http.MethodPost
		}
		got := b.send(method, target, "", "")
		if got.Code != status || status == http.StatusConflict &&
			!strings.Contains(got.Body.String(), "it already has credentials") {
			t.Errorf("%s: %d %s", target, got.Code, got.Body)
		}
	}
	// Neither runtime has a login that ends with a code entered here, or a login with a key.
	for _, name := range []string{"scripted", "codex"} {
		for _, body := range []string{`{"id":"x","code":"y"}`, `{"apiKey":"y"}`} {
			got := b.send(http.MethodPost, "/api/runtimes/"+name+"/login", "application/json", body)
			if got.Code != http.StatusConflict || !strings.Contains(got.Body.String(), "unsupported_by_runtime") {
				t.Errorf("%s for %s: %d %s", body, name, got.Code, got.Body)
			}
		}
	}
}

// A key logs in a runtime that accepts keys. The response never contains the key, even if the runtime repeats it.
// RA-07
func TestLoginWithProviderKey(t *testing.T) {
	t.Parallel()
	b := setup(t, func(p *parts) {
		p.Runtimes = twoRuntimes{[]runtime.Adapter{codesTaker{codex.New(codex.Options{})}}}
	})
	if got := b.send(http.MethodGet, "/api/runtimes/codex", "", ""); !strings.Contains(got.Body.String(),
		`"login":true,"logins":["page","key"]`) {
		t.Errorf("it is %s", got.Body)
	}
	for body, want := range map[string]string{
		`{"apiKey":" sk-1 ","provider":"p"}`: `200 {"completed":true,"provider":"p","stored":true}`,
		`{"apiKey":"sk-1"}`:                  `200 {"completed":true,"stored":true}`,
		`{"apiKey":"sk 1"}`:                  `400 {"status":"error","code":"invalid_params"`,
		`{"apiKey":"` + refusedKey + `"}`:    `409 {"status":"error","code":"invalid_state"`,
	} {
		answer := b.send(http.MethodPost, "/api/runtimes/codex/login", "application/json", body)
		got := fmt.Sprint(answer.Code, " ", answer.Body)
		if !strings.HasPrefix(got, want) || strings.Contains(got+b.log.String(), refusedKey) {
			t.Errorf("%s: %s", body, got)
		}
	}
}
