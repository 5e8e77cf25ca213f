package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	v1 "harness/api/v1"
)

// leastBody returns the required members of a path's body.
var leastBody = map[string]string{
	"/api/login": `{"token":"none"}`,
	"/api/login/oidc/{provider}/device/token": `{"deviceCode":"none"}`,
	"/api/sessions/{sessionId}/read":          `{"messageId":"a"}`,
	"/api/server/settings":                    `{"defaults":` + someControls + `}`,
	"/api/push":                               `{"endpoint":"https://a.example","keys":{"p256dh":"k","auth":"a"}}`,
	"/api/prices":                             `{"model":"m","inputMicros":3,"cachedInputMicros":1,"outputMicros":4}`,
	"/api/tokens":                             `{"name":"n","role":"ci"}`,
	"/api/projects":                           `{"name":"p"}`, "/api/projects/{projectId}/rename": `{"name":"p"}`,
	"/api/projects/{projectId}/chats/move-all": `{"destination":"archive"}`,
	"/api/sessions/{sessionId}/rename":         `{"title":"t"}`, "/api/sessions/{sessionId}/project": `{"projectId":null}`,
	"/api/sessions/{sessionId}/queue":                    `{"text":"t"}`,
	"/api/sessions/{sessionId}/messages":                 `{"text":"t"}`,
	"/api/sessions/{sessionId}/transcript/upsert":        leastEntry,
	"/api/sessions/{sessionId}/transcript/upserts":       `{"entries":[` + leastEntry + `]}`,
	"/api/sessions/{sessionId}/turns/{turnId}/steer":     `{"input":"t"}`,
	"/api/sessions/{sessionId}/suggested-request/upsert": `{"requestKey":"k","status":"error"}`,
	"/api/sessions/{sessionId}/session-controls": `{"scope":"session","controls":{"model":null,` +
		`"approvalPolicy":"never","networkAccess":"enabled","filesystemSandbox":"read-only"}}`,
	"/api/sessions/{sessionId}/settings":        `{"scope":"session","key":"k","value":1}`,
	"/api/sessions/{sessionId}/approval-policy": `{"approvalPolicy":"never"}`,
	"/api/approvals/{approvalId}/decision":      `{"decision":"accept"}`,
	"/api/tool-input/{requestId}/decision":      `{"decision":"accept"}`,
	"/api/skills/config":                        `{"path":"p","enabled":true}`,
	"/api/skills/remote":                        `{"hazelnutId":"h","isPreload":true}`,
	"/api/account/login/start":                  `{"type":"chatgpt"}`, "/api/account/login/cancel": `{"loginId":"l"}`,
	"/api/config/value": leastEdit, "/api/config/batch": `{"edits":[` + leastEdit + `]}`,
	"/api/commands/exec": `{"command":["ls"]}`, "/api/feedback": `{"classification":"bug","includeLogs":false}`,
}

const (
	leastEntry = `{"messageId":"m","turnId":"t","role":"user","type":"t","content":"c","status":"complete"}`
	leastEdit  = `{"keyPath":"k","mergeStrategy":"replace","value":1}`
)

// contentNames and selectionNames are the names that clients use for content and for selection.
var (
	contentNames = []string{"attachments", "content", "contentItems", "file", "files", "image", "images", "input",
		"message", "parts", "prompt", "text", "title"}
	selectionNames = []string{"q", "query", "search", "filter", "sort", "order", "limit", "cursor", "before", "after",
		"offset", "page", "state", "projectId", "threadId"}
)

// Every operation accepts all documented members. Like codex-manager, it ignores unknown members, except content and
// selection, which it refuses.
func TestUnknownContentAndSelectionAreRefused(t *testing.T) {
	t.Parallel()
	refused := func(method, target, body, name string) bool {
		t.Helper()
		b := setup(t, func(o *parts) {
			o.Controls, o.Searching = newFakeControls("untrusted", "restricted", "read-only"), fakeSearching{}
		})
		contentType := ""
		if body != "" {
			contentType = "application/json"
		}
		got := b.send(method, target, contentType, body)
		is := strings.Contains(got.Body.String(), `{"code":"unrecognized_keys","keys":["`+name+`"],"path":[`)
		if is != (is && got.Code == http.StatusBadRequest) {
			t.Errorf("%s %s %s got %d %s", method, target, body, got.Code, got.Body.String())
		}
		return is
	}
	checked := 0
	for _, r := range readDocument(t).routes {
		raw := r.path == "/metrics" || r.path == "/api/stream" || strings.HasPrefix(r.path, "/rpc") || r.path == "/ws" ||
			r.path == "/api/openapi.json" || r.path == "/api/asyncapi.json" || r.path == "/api/docs" ||
			strings.HasPrefix(r.path, "/v1") || strings.HasPrefix(r.path, "/api/agents") ||
			// Clients of AG-UI send the whole conversation and members of their own (api/agui).
			strings.HasPrefix(r.path, "/agui") ||
			// The provider decides which members it adds to its response.
			strings.HasPrefix(r.path, "/api/login/oidc") && !strings.Contains(r.path, "/device")
		if raw {
			continue
		}
		target := strings.NewReplacer("{sessionId}", knownID, "{", "", "}", "").Replace(r.path)
		least := leastBody[r.path]
		for _, name := range append([]string{"unknown", "_"}, selectionNames...) {
			documented := r.Parameters.GetByInAndName("query", name) != nil
			want := !documented && slices.Contains(selectionNames, name)
			required := ""
			if r.path == "/api/search" {
				required = "&q=x"
			}
			if strings.HasSuffix(r.path, "/files/content") || strings.HasSuffix(r.path, "/blame") {
				required = "&path=x"
			}
			if refused(r.method, target+"?"+name+"=1"+required, least, name) != want {
				t.Errorf("%s %s?%s: refused is not %v", r.method, r.path, name, want)
			}
			checked++
		}
		if r.method != http.MethodPost || takesFile(r.Operation) {
			continue
		}
		for _, name := range append([]string{"unknown"}, contentNames...) {
			body := map[string]any{}
			if least != "" {
				if err := json.Unmarshal([]byte(least), &body); err != nil {
					t.Fatal(err)
				}
			}
			if _, has := body[name]; has || documentedMember(r.Operation, name) {
				continue
			}
			body[name] = "x"
			encoded, err := json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
			if want := name != "unknown"; refused(r.method, target, string(encoded), name) != want {
				t.Errorf("%s %s %s: refused is not %v", r.method, r.path, encoded, want)
			}
			checked++
		}
	}
	if checked < 1000 {
		t.Errorf("only %d cases", checked)
	}
	if !refused(http.MethodPost, "/api/sessions/"+knownID+"/transcript/upserts",
		strings.Replace(`{"entries":[`+leastEntry+`]}`, `"role"`, `"files":[],"role"`, 1), "files") {
		t.Error("content inside of an entry is ignored")
	}
}

// takesFile reports whether an operation's body has no members.
func takesFile(o *openapi3.Operation) bool {
	return o.RequestBody != nil && o.RequestBody.Value.Content.Get("application/json") == nil
}

// documentedMember reports whether an operation's body has a member.
func documentedMember(o *openapi3.Operation, name string) bool {
	if o.RequestBody == nil {
		return false
	}
	schema := o.RequestBody.Value.Content.Get("application/json").Schema.Value
	for _, one := range append(openapi3.SchemaRefs{{Value: schema}},
		slices.Concat(schema.OneOf, schema.AnyOf, schema.AllOf)...) {
		if slices.Contains(slices.Collect(maps.Keys(one.Value.Properties)), name) {
			return true
		}
	}
	return false
}

func TestSearchTextSelectsSessions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for target, want := range map[string]string{"": "", "?q=": "", "?q=%20": "", "?q=+%D0%94%D0%9E+%25_": "ДО %_",
		"?q=" + strings.Repeat("x", 200): strings.Repeat("x", 200)} {
		if got := b.send(http.MethodGet, "/api/sessions"+target, "", ""); got.Code != http.StatusOK ||
			b.sessions.listed.Text != want {
			t.Errorf("%s: %d, searched for %q", target, got.Code, b.sessions.listed.Text)
		}
	}
	for _, target := range []string{"?q=" + strings.Repeat("x", 201), "?q=a&q=b"} {
		if got := b.send(http.MethodGet, "/api/sessions"+target, "", ""); got.Code != http.StatusBadRequest ||
			!strings.Contains(got.Body.String(), `"path":["q"]`) {
			t.Errorf("%s: %d %s", target, got.Code, got.Body.String())
		}
	}
}

// The task API accepts exactly the documented query parameters and refuses all others.
func TestQueriesOfTheTaskAPIAreDocumented(t *testing.T) {
	t.Parallel()
	read := map[string][]string{}
	for _, r := range v1.Routes() {
		read[r.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}")] = r.Query
	}
	for _, r := range readDocument(t).routes {
		if !strings.HasPrefix(r.path, "/v1") || strings.HasPrefix(r.path, "/v1/artifacts") {
			continue
		}
		names, served := read[r.method+" "+r.path]
		if !served {
			t.Errorf("%s %s is not served", r.method, r.path)
		}
		delete(read, r.method+" "+r.path)
		var documented []string
		for _, parameter := range r.Parameters {
			if parameter.Value.In == openapi3.ParameterInQuery {
				documented = append(documented, parameter.Value.Name)
			}
		}
		if slices.Sort(documented); !slices.Equal(documented, slices.Sorted(slices.Values(names))) {
			t.Errorf("%s %s is documented with %q and reads %q", r.method, r.path, documented, names)
		}
	}
	for operation := range read {
		t.Errorf("%s is not documented", operation)
	}
}
