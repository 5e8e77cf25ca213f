package api_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/services/session"
	"harness/queue"
	"harness/tests/runtimetest/scripted"
)

// fieldCase is a valid request, with a different value for each of its fields: JSON for the body, text for the query.
// With has fields that another field requires.
type fieldCase struct {
	base   string
	query  string // the fields that it requires
	fields map[string]string
	with   map[string]string
}

const (
	aTool  = `[{"name":"n","description":"d","inputSchema":{}}]`
	anItem = `{"messageId":"m","turnId":"t","role":"user","type":"x","content":"c","status":"complete"}`
)

// fieldCases has every operation with documented request fields, except the websocket.
var fieldCases = map[string]fieldCase{
	"POST /api/login":                     {base: `{"token":"none"}`, fields: map[string]string{"token": `"a-token-of-the-tests"`}},
	"POST /api/sessions/{sessionId}/read": {base: `{"messageId":"a"}`, fields: map[string]string{"messageId": `"b"`}},
	"POST /api/push": {base: `{"endpoint":"https://a.example","keys":{"p256dh":"k","auth":"a"}}`, fields: map[string]string{
		"endpoint": `"https://b.example"`, "keys": `{"p256dh":"k","auth":"b"}`}},
	"POST /api/tokens": {base: `{"name":"a","role":"ci"}`,
		fields: map[string]string{"name": `"b"`, "role": `"viewer"`, "expiresAt": `"2027-01-02T03:04:05Z"`,
			"projects": `["p-1"]`}},
	"POST /api/prices": {base: `{"model":"m","inputMicros":3,"cachedInputMicros":1,"outputMicros":4}`, fields: map[string]string{
		"model": `"n"`, "from": `"2026-01-02"`, "inputMicros": `5`, "cachedInputMicros": `2`, "outputMicros": `6`}},
	"PATCH /api/tokens/{tokenId}": {base: `{"role":"ci"}`, fields: map[string]string{"role": `"viewer"`}},
	"POST /api/projects": {base: `{"name":"a"}`,
		fields: map[string]string{"name": `"b"`, "workingDirectory": `"/w"`}},
	"POST /api/projects/{projectId}/rename": {base: `{"name":"a"}`,
		fields: map[string]string{"name": `"b"`, "workingDirectory": `"/w"`}},
	"POST /api/projects/{projectId}/chats/move-all": {base: `{"destination":"unassigned"}`,
		fields: map[string]string{"destination": `"archive"`}},
	"POST /api/sessions/{sessionId}/rename": {base: `{"title":"a"}`, fields: map[string]string{"title": `"b"`}},
	"POST /api/sessions/{sessionId}/resume": {base: `{}`, fields: map[string]string{"dynamicTools": aTool}},
	"POST /api/sessions/{sessionId}/project": {base: `{"projectId":null}`,
		fields: map[string]string{"projectId": `"p"`}},
	"POST /api/sessions/{sessionId}/interrupt": {base: `{}`, fields: map[string]string{"turnId": `"t"`, "keepBackground": `true`}},
	"POST /api/sessions/{sessionId}/rewind": {base: `{"turnId":"t"}`, fields: map[string]string{"turnId": `"u"`, "undo": `"r"`,
		"files": `false`, "conversation": `false`, "force": `true`, "dryRun": `true`}},
	"POST /api/sessions/{sessionId}/rollback": {base: `{}`, fields: map[string]string{"numTurns": `2`}},
	"POST /api/sessions/{sessionId}/approval-policy": {base: `{"approvalPolicy":"untrusted"}`,
		fields: map[string]string{"approvalPolicy": `"never"`}},
	"POST /api/skills/config": {base: `{"path":"a","enabled":true}`,
		fields: map[string]string{"path": `"b"`, "enabled": `false`}},
	"POST /api/skills/remote": {base: `{"hazelnutId":"a","isPreload":true}`,
		fields: map[string]string{"hazelnutId": `"b"`, "isPreload": `false`}},
	"POST /api/account/login/cancel": {base: `{"loginId":"a"}`,
		fields: map[string]string{"loginId": `"b"`}},
	"GET /api/projects/{projectId}/orchestrator/jobs": {fields: map[string]string{"state": "failed"}},
	"GET /api/models":                {fields: map[string]string{"cursor": "c", "limit": "7"}},
	"GET /api/features/experimental": {fields: map[string]string{"cursor": "c", "limit": "7"}},
	"GET /api/collaboration/modes":   {fields: map[string]string{"cursor": "c", "limit": "7"}},
	"GET /api/mcp/servers":           {fields: map[string]string{"cursor": "c", "limit": "7"}},
	"GET /api/apps": {
		fields: map[string]string{"cursor": "c", "limit": "7", "threadId": "t", "forceRefetch": "true"}},
	"GET /api/skills":       {fields: map[string]string{"cwd": "/w", "forceReload": "true"}},
	"GET /api/config":       {fields: map[string]string{"cwd": "/w", "includeLayers": "true"}},
	"GET /api/capabilities": {fields: map[string]string{"refresh": "true"}},
	"GET /api/sessions/{sessionId}": {
		fields: map[string]string{"limit": "7", "before": "b", "after": "a", "view": "console", "around": "c", "from": "start",
			"count": "true", "details": "omit"}},
	"GET /api/sessions/{sessionId}/settings":           {fields: map[string]string{"scope": "default", "key": "k"}},
	"POST /api/sessions/{sessionId}/transcript/upsert": {base: anItem, fields: upsertFields},
	"POST /api/sessions/{sessionId}/transcript/upserts": {base: `{"entries":[` + anItem + `]}`, fields: map[string]string{
		"entries": `[` + anItem + `,` + anItem + `]`}},
	"GET /api/sessions": {fields: map[string]string{"archived": "true", "cursor": "c", "limit": "7",
		"includeSystemOwned": "true", "q": "x", "runtime": "r", "project": "p", "state": "idle", "sort": "created",
		"view": "console"}},
	"POST /api/sessions/{sessionId}/queue": {base: `{"text":"a"}`,
		fields: map[string]string{"text": `"b"`, "effort": `"low"`, "model": `"m"`,
			"approvalPolicy": `"never"`, "networkAccess": `"enabled"`, "filesystemSandbox": `"workspace-write"`,
			"images": `["data:image/gif;base64,R0lGODlhAQABAAAAACw="]`}},
	"PATCH /api/sessions/{sessionId}/queue/{messageId}":     {base: `{"text":"a"}`, fields: map[string]string{"text": `"b"`}},
	"POST /api/sessions/{sessionId}/queue/{messageId}/move": {base: `{}`, fields: map[string]string{"before": `"b"`}},
	"GET /api/jobs": {fields: map[string]string{"state": "failed", "type": "t", "project": "p", "session": "s",
		"since": "2026-01-02", "until": "2026-01-02", "cursor": "c", "limit": "7"}},
	"POST /api/jobs/cancel": {base: `{"type":"t"}`, fields: map[string]string{"state": `"failed"`, "type": `"other"`,
		"project": `"p"`, "session": `"s"`, "since": `"2026-01-02"`, "until": `"2026-01-02"`}},
	"GET /api/events": {fields: map[string]string{"after": "1", "before": "1", "type": "t", "session": "s", "actor": "a",
		"since": "2026-01-02", "until": "2026-01-02", "limit": "7"}},
	"GET /api/search": {query: "q=x", fields: map[string]string{"q": "y", "project": "p", "session": "s", "cursor": "c",
		"limit": "7"}},
	"DELETE /api/worktrees/{worktreeId}":         {fields: map[string]string{"force": "true"}},
	"GET /api/sessions/{sessionId}/changes":      {fields: map[string]string{"turn": "t", "base": "branch", "cursor": "1", "limit": "1"}},
	"GET /api/sessions/{sessionId}/changes/diff": {fields: map[string]string{"turn": "t", "base": "branch", "path": "a", "context": "1"}},
	"GET /api/sessions/{sessionId}/blame":        {query: "path=a", fields: map[string]string{"path": "b", "line": "2", "limit": "1"}},
	"GET /api/folders":                           {fields: map[string]string{"q": "/w"}},
	"GET /api/sessions/{sessionId}/files":        {fields: map[string]string{"path": "closed", "cursor": "1", "limit": "1"}},
	// What "small" does is shown where images are stored; another value is refused.
	"GET /api/sessions/{sessionId}/images/{imageId}": {fields: map[string]string{"size": "large"}},
	"GET /api/sessions/{sessionId}/files/content":    {query: "path=a", fields: map[string]string{"path": "none", "from": "2"}},
	"GET /api/usage": {fields: map[string]string{"by": "runtime", "project": "p", "session": "s", "runtime": "r",
		"since": "2026-01-02", "until": "2026-01-02", "limit": "7"}},
	"POST /api/sessions": {base: `{}`,
		fields: map[string]string{"cwd": `"/w"`, "model": `"m"`, "approvalPolicy": `"never"`,
			"networkAccess": `"enabled"`, "filesystemSandbox": `"workspace-write"`, "dynamicTools": aTool, "runtime": `"r"`,
			"implicitSources": `"home"`, "projectId": `"p-1"`, "nonInteractive": `true`, "worktree": `{}`,
			"nativeTools": `"off"`, "message": `{"text":"a"}`}},
	"POST /api/sessions/{sessionId}/messages": {base: `{"text":"a"}`,
		fields: map[string]string{"text": `"b"`, "effort": `"low"`, "model": `"m"`,
			"approvalPolicy": `"never"`, "networkAccess": `"enabled"`, "filesystemSandbox": `"workspace-write"`,
			"dynamicTools": aTool, "images": `["data:image/gif;base64,R0lGODlhAQABAAAAACw="]`}},
	"POST /api/sessions/{sessionId}/turns/{turnId}/steer": {base: `{"input":"a"}`,
		fields: map[string]string{"input": `"b"`}},
	"POST /api/sessions/{sessionId}/review": {base: `{}`,
		fields: map[string]string{"delivery": `"detached"`, "targetType": `"commit"`,
			"branch": `"b"`, "sha": `"s"`, "title": `"t"`, "instructions": `"i"`}},
	"POST /api/approvals/{approvalId}/decision": {base: `{"decision":"accept"}`,
		fields: map[string]string{"decision": `"decline"`,
			"scope": `"session"`, "choice": `{"a":1}`, "option": `"acceptForSession"`, "message": `"why"`, "updatedInput": `{"command":"ls"}`}},
	"POST /api/runtimes/{runtime}/login": {base: `{}`, fields: map[string]string{"id": `"other"`, "code": `"c"`, "apiKey": `"k"`,
		"provider": `"p"`},
		with: map[string]string{"id": `{"id":"one","code":"c"}`, "provider": `{"apiKey":"k"}`}},
	"POST /api/tool-input/{requestId}/decision": {base: `{"decision":"accept"}`,
		fields: map[string]string{"decision": `"decline"`,
			"answers": `{"q":{"answers":["a"]}}`, "response": `{"a":1}`, "message": `"why"`}},
	"POST /api/tool-calls/{requestId}/response": {base: `{}`, fields: map[string]string{"success": `false`, "text": `"t"`,
		"contentItems": `[{"type":"inputText","text":"i"}]`, "response": `{"success":true}`}},
	"POST /api/server/settings": {base: `{"defaults":` + someControls + `}`, fields: map[string]string{
		"defaults": strings.Replace(someControls, "never", "on-request", 1)}},
	"POST /api/sessions/{sessionId}/session-controls": {base: `{"scope":"session","controls":` + someControls + `}`,
		fields: map[string]string{
			"scope": `"default"`, "controls": strings.Replace(someControls, "never", "on-request", 1), "actor": `"me"`,
			"source": `"cli"`}},
	"POST /api/sessions/{sessionId}/settings": {base: `{"scope":"session","settings":{"a":1}}`, fields: map[string]string{
		"scope": `"default"`, "settings": `{"b":2}`, "mode": `"replace"`, "actor": `"me"`, "source": `"cli"`, "key": `"k"`,
		"value": `1`}},
	"DELETE /api/sessions/{sessionId}/settings/{key}": {fields: map[string]string{"scope": "default", "actor": "me",
		"source": "cli"}},
	"POST /api/mcp/servers/{serverName}/oauth/login": {base: `{}`,
		fields: map[string]string{"scopes": `["a"]`, "timeoutSecs": `7`}},
	"POST /api/commands/exec": {base: `{"command":["a"]}`, fields: map[string]string{"command": `["b"]`, "cwd": `"/w"`,
		"timeoutMs": `7`}},
	"POST /api/feedback": {base: `{"classification":"a","includeLogs":true}`,
		fields: map[string]string{"classification": `"b"`,
			"includeLogs": `false`, "reason": `"r"`, "threadId": `"t"`}},
	"POST /api/config/value": {base: `{"keyPath":"a","mergeStrategy":"replace","value":1}`,
		fields: map[string]string{"keyPath": `"b"`,
			"mergeStrategy": `"upsert"`, "value": `2`, "expectedVersion": `"v"`, "filePath": `"/f"`}},
	"POST /api/config/batch": {base: `{"edits":[{"keyPath":"a","mergeStrategy":"replace","value":1}]}`,
		fields: map[string]string{
			"edits": `[{"keyPath":"b","mergeStrategy":"replace","value":1}]`, "expectedVersion": `"v"`, "filePath": `"/f"`}},
	"POST /api/account/login/start": {base: `{"type":"chatgptAuthTokens","accessToken":"a","chatgptAccountId":"a"}`,
		fields: map[string]string{
			"type": `"chatgpt"`, "accessToken": `"b"`, "chatgptAccountId": `"b"`, "chatgptPlanType": `"p"`, "apiKey": `"k"`},
		with: map[string]string{"apiKey": `{"type":"apiKey"}`}},
	"POST /api/sessions/{sessionId}/suggested-request":      {base: `{}`, fields: suggestFields},
	"POST /api/sessions/{sessionId}/suggested-request/jobs": {base: `{}`, fields: suggestFields},
	"POST /api/sessions/{sessionId}/suggested-request/upsert": {base: `{"requestKey":"a","status":"error"}`,
		fields: map[string]string{
			"requestKey": `"b"`, "status": `"canceled"`, "suggestion": `"s"`, "error": `"e"`}},
}

const someControls = `{"model":null,"approvalPolicy":"never","networkAccess":"enabled","filesystemSandbox":"read-only"}`

var (
	suggestFields = map[string]string{"model": `"m"`, "effort": `"low"`, "draft": `"d"`}
	upsertFields  = map[string]string{"messageId": `"n"`, "turnId": `"u"`, "role": `"assistant"`, "type": `"y"`,
		"content": `"d"`, "details": `"{}"`, "startedAt": `1`, "completedAt": `2`, "status": `"streaming"`}
)

// codesTaker is a runtime with logins that end with a code. It accepts no code, and every key except refusedKey.
type codesTaker struct{ *codex.Codex }

const refusedKey = "sk-4711-refused"

func (codesTaker) TakeKey(_ context.Context, key runtime.ProviderKey) (runtime.TakenKey, error) {
	if key.Key == refusedKey {
		return runtime.TakenKey{}, &runtime.Error{Runtime: codex.Name, Message: "what is " + key.Key + "?",
			Data: json.RawMessage(`"` + key.Key + `"`), Kind: runtime.ErrInvalidState}
	}
	return runtime.TakenKey{Provider: key.Provider, Stored: true}, nil
}

func (codesTaker) FinishLogin(_ context.Context, id, code string) error {
	return &runtime.Error{Runtime: codex.Name, Message: id + " " + code, Kind: runtime.ErrInvalidState}
}

// effect returns everything that a request causes: its response, and the calls to packages behind the handler and to
// the runtime.
func effect(t *testing.T, method, target, body string) string {
	t.Helper()
	controls, suggester := newFakeControls("untrusted", "restricted", "read-only"), &fakeSuggester{}
	controls.defaults.Settings = map[string]json.RawMessage{"k": json.RawMessage("1")}
	controls.sessions[knownID] = session.Controls{Settings: map[string]json.RawMessage{"k": json.RawMessage("2")}}
	b := setup(t, func(o *parts) {
		o.Controls, o.Suggester, o.Suggestions = controls, suggester, suggester
		o.Runtimes = twoRuntimes{[]runtime.Adapter{codesTaker{codex.New(codex.Options{})}, scripted.New(scripted.Options{})}}
		o.Events, o.Searching = fakeEvents{}, fakeSearching{}
		o.Changes, o.Files, o.Rewinds, o.WorkingTrees.Worktrees = fakeChanges{}, fakeFiles{}, fakeRewinds{}, fakeWorktrees{}
		o.Jobs = fakeJobs{{ID: "j", ProjectID: "p", State: queue.Queued}}
	})
	f := b.sessions
	f.projects, f.next.turnID = []session.Project{{ID: "p", Name: "p"}}, "turn"
	for id, kind := range map[string]runtime.RequestKind{"a": runtime.RequestApproval, "i": runtime.RequestToolInput,
		"c": runtime.RequestToolCall} {
		f.requests[id] = session.Request{ID: id, Kind: kind, Status: session.RequestPending}
	}
	b.runtime.result = json.RawMessage(`{"data":[]}`)
	b.health.status.Generation = "g"
	b.runtime.refused = map[string][]error{
		"harness/probe": {
			&runtime.Error{Code: -32600, Message: "unknown variant `harness/probe`, expected one of `initialize`"}}}
	contentType := ""
	if body != "" {
		contentType = "application/json"
	}
	if method == http.MethodGet { // not the first call, which may run discovery
		plain, _, _ := strings.Cut(target, "?")
		b.send(method, plain, "", "")
	}
	got := b.send(method, target, contentType, body)
	answer := got.Result().Status + got.Body.String()
	seen, err := json.Marshal([]any{answer, f.received, f.messages, f.created, f.settled, f.read.Window, f.listed,
		f.rolledBack, f.entries, f.projects, f.assigned, f.archived, b.runtime.calls, controls.defaults, controls.sessions,
		controls.audits, suggester.asked, suggester.stored})
	if err != nil {
		t.Fatal(err)
	}
	return string(seen)
}

// members parses a JSON object.
func members(t *testing.T, body string) map[string]json.RawMessage {
	t.Helper()
	read := map[string]json.RawMessage{}
	if body == "" {
		return read
	}
	if err := json.Unmarshal([]byte(body), &read); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return read
}

// documentedFields adds the names in a schema, however it is composed.
func documentedFields(into map[string]bool, schema *openapi3.SchemaRef) {
	if schema == nil {
		return
	}
	for name := range schema.Value.Properties {
		into[name] = true
	}
	for _, parts := range []openapi3.SchemaRefs{schema.Value.AllOf, schema.Value.AnyOf, schema.Value.OneOf} {
		for _, part := range parts {
			documentedFields(into, part)
		}
	}
}

// The server ignores no documented request field: a different value changes the effect or the response.
func TestEveryRequestFieldCounts(t *testing.T) {
	t.Parallel()
	path := strings.NewReplacer("{runtime}", codex.Name, "{sessionId}", knownID, "{projectId}", "p", "{turnId}", "t", "{key}", "k",
		"{serverName}", "s", "{approvalId}", "a", "{tokenId}", "k")
	for _, r := range readDocument(t).routes {
		if takesFile(r.Operation) {
			continue // TestUploadedPictures
		}
		if strings.HasPrefix(r.path, "/api/login/oidc/") {
			continue // tests/e2e/login, with a real provider
		}
		operation := r.method + " " + r.path
		fields := map[string]bool{}
		inQuery := map[string]bool{}
		for _, parameter := range r.Parameters {
			if parameter.Value.In == openapi3.ParameterInQuery {
				fields[parameter.Value.Name], inQuery[parameter.Value.Name] = true, true
			}
		}
		if r.RequestBody != nil {
			documentedFields(fields, r.RequestBody.Value.Content.Get("application/json").Schema)
		}
		// The task API refuses all members that it does not read (api/v1). AG-UI's are tested in api/agui.
		if len(fields) == 0 || operation == "GET /api/stream" || strings.HasPrefix(r.path, "/v1") || strings.HasPrefix(r.path, "/agui") {
			continue
		}
		c, known := fieldCases[operation]
		_, listed := c.fields["runtime"]
		// these routes serve any runtime, or only codex: another runtime changes the response
		about := inQuery["runtime"] && !listed
		if !known && (!about || len(fields) > 1) {
			t.Errorf("%s: say in fieldCases what its fields do", operation)
			continue
		}
		target := path.Replace(strings.Replace(r.path, "tool-input/{requestId}", "tool-input/i", 1))
		target = strings.Replace(target, "{requestId}", "c", 1)
		plain := effect(t, r.method, target+"?"+c.query, c.base)
		for name := range fields {
			value, listed := c.fields[name]
			if about && name == "runtime" {
				value, listed = scripted.Name, true
			}
			if !listed {
				t.Errorf("%s: say in fieldCases what %s does", operation, name)
				continue
			}
			without, body, query := plain, c.base, ""
			if inQuery[name] {
				asked, err := url.ParseQuery(c.query)
				if err != nil {
					t.Fatal(err)
				}
				asked.Set(name, value)
				query = "?" + asked.Encode()
			} else {
				sent := members(t, c.base)
				if along, has := c.with[name]; has {
					maps.Copy(sent, members(t, along))
					without = effect(t, r.method, target, encode(t, sent))
				}
				sent[name] = json.RawMessage(value)
				body = encode(t, sent)
			}
			if with := effect(t, r.method, target+query, body); with == without {
				t.Errorf("%s%s %s changes nothing:\n%s", operation, query, body, with)
			}
		}
		for name := range c.fields {
			if !fields[name] {
				t.Errorf("%s has no documented field %s", operation, name)
			}
		}
	}
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The server refuses combinations in which only one part would take effect.
func TestConflictingPartsAreRefused(t *testing.T) {
	t.Parallel()
	const sessions, accept, review = "/api/sessions/" + knownID, `"decision":"accept"`, "Requires targetType "
	for _, c := range []struct{ target, body, field, words string }{
		{sessions + "/review", `{"branch":"b"}`, "branch", review + "baseBranch only; this review is of custom"},
		{sessions + "/review", `{"targetType":"baseBranch","branch":"b","sha":"s"}`, "sha", review + "commit only"},
		{sessions + "/review", `{"targetType":"uncommittedChanges","instructions":"i"}`, "instructions",
			review + "custom only"},
		{sessions + "/review", `{"targetType":"baseBranch","title":"t"}`, "title", review + "commit only"},
		{"/api/approvals/a/decision", `{"decision":"decline","updatedInput":{}}`, "updatedInput", "accept only"},
		{"/api/runtimes/codex/login", `{"code":"c","apiKey":"k"}`, "apiKey", "either the code"},
		{"/api/runtimes/codex/login", `{"provider":"p"}`, "provider", "requires its apiKey"},
		{"/api/tool-input/i/decision", `{"decision":"decline","answers":{"q":{"answers":["a"]}}}`, "answers", "accept only"},
		{"/api/tool-input/i/decision", `{` + accept + `,"response":{},"answers":{"q":{"answers":["a"]}}}`, "answers",
			"not both"},
		{"/api/tool-calls/c/response", `{"text":"t","contentItems":[]}`, "text", "not both"},
		{"/api/tool-calls/c/response", `{"text":"t","response":{}}`, "response", "not both"},
		{"/api/tool-calls/c/response", `{"contentItems":[],"response":{}}`, "response", "not both"},
		{"/api/tool-calls/c/response", `{"success":true,"response":{"success":false}}`, "success", "states itself"},
	} {
		got := effect(t, http.MethodPost, c.target, c.body)
		if !strings.Contains(got, "400 Bad Request") || !strings.Contains(got, c.words) ||
			!strings.Contains(got, `[\"`+c.field+`\"]`) {
			t.Errorf("%s %s: %s", c.target, c.body, got)
		}
		if clean := effect(t, http.MethodPost, c.target, `{"nothing":1,"decision":"cancel"}`); strings.Contains(
			clean, "400") {
			t.Errorf("%s without them: %s", c.target, clean)
		}
	}
	for _, fine := range []struct{ target, body string }{
		{sessions + "/review", `{"targetType":"commit","sha":"s","title":"t"}`},
		{"/api/tool-input/i/decision", `{"decision":"decline","answers":{}}`},
		{"/api/tool-calls/c/response", `{"success":true,"response":{"success":true}}`},
	} {
		if got := effect(t, http.MethodPost, fine.target, fine.body); !strings.Contains(got, "200 OK") {
			t.Errorf("%s %s: %s", fine.target, fine.body, got)
		}
	}
}
