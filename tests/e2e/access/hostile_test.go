package access

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"harness/api"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// hostileTexts are texts that no engine, encoder or file system accepts unchanged, as JSON strings.
var hostileTexts = []string{`"\u0000"`, `"a\u0000b"`, `"\ud800"`, `"\udc00\ud800x"`, `"\uffff\ufffe"`, `"\u202e\u2028"`,
	`"'; drop table sessions; --"`, `"../../../etc/passwd"`,
	`"%s%n\\"`, `"__proto__"`, "\"\xff\xfe\"", `"` + strings.Repeat("é", 5000) + `"`}

// hostileParameters are path parameters in their wire format.
var hostileParameters = []string{"%00", "a%00b", "%ff", "%C3%28", "%2e%2e%2f%2e%2e", "..%5c", "%F0%9F%98%80",
	"%22%27%3b--", "__proto__", "%25%30%30", "%0d%0aX:1", "-1"}

// hostileBodies are templates. The test replaces TEXT.
var hostileBodies = map[string]string{
	"/api/push":                         `{"endpoint":TEXT,"keys":{"p256dh":TEXT,"auth":TEXT}}`,
	"/api/sessions/{sessionId}/read":    `{"messageId":TEXT}`,
	"/api/projects":                     `{"name":TEXT,"workingDirectory":TEXT}`,
	"/api/projects/{projectId}/rename":  `{"name":TEXT,"workingDirectory":TEXT}`,
	"/api/sessions/{sessionId}/rename":  `{"title":TEXT}`,
	"/api/sessions/{sessionId}/project": `{"projectId":TEXT}`,
	"/api/sessions/{sessionId}/transcript/upsert": `{"messageId":TEXT,"turnId":TEXT,"role":"user","type":TEXT,` +
		`"content":TEXT,"details":TEXT,"status":"complete",` +
		`"startedAt":9007199254740991,"completedAt":0}`,
	"/api/sessions/{sessionId}/transcript/upserts": `{"entries":[{"messageId":TEXT,"turnId":TEXT,"role":"user",` +
		`"type":TEXT,"content":TEXT,"details":TEXT,"status":"complete"},` +
		`{"messageId":"m","turnId":TEXT,"role":"user","type":"t","content":TEXT,"status":"streaming"}]}`,
	"/api/sessions/{sessionId}/session-controls": `{"scope":"session","controls":{"model":TEXT,` +
		`"approvalPolicy":"never","networkAccess":"enabled","filesystemSandbox":"read-only",` +
		`"settings":{"k":TEXT}},"actor":TEXT,"source":TEXT}`,
	"/api/sessions/{sessionId}/settings":                 `{"scope":"session","key":TEXT,"value":[TEXT,1e400,-0,{"a":1,"a":2}]}`,
	"/api/sessions/{sessionId}/suggested-request/upsert": `{"requestKey":TEXT,"status":"complete","suggestion":TEXT,"error":TEXT}`,
	"/api/sessions/{sessionId}/suggested-request/jobs":   `{"model":TEXT,"draft":TEXT}`,
	"/api/sessions/{sessionId}/turns/{turnId}/steer":     `{"input":TEXT}`,
	"/api/approvals/{approvalId}/decision":               `{"decision":"accept"}`,
	"/api/tool-input/{requestId}/decision":               `{"decision":"accept","answers":{"a":TEXT}}`,
	"/api/tool-calls/{requestId}/response":               `{"text":TEXT}`,
	"/api/orchestrator/jobs/{jobId}/cancel":              `{}`,
}

// sendRaw sends a request with its target unchanged.
func sendRaw(i *programtest.Server, method, target, body string) (int, []byte) {
	i.T.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), programtest.Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, i.URL, bytes.NewReader([]byte(body)))
	if err != nil {
		i.T.Fatal(err)
	}
	path, query, _ := strings.Cut(target, "?")
	request.URL.Opaque, request.URL.RawQuery = "//"+request.URL.Host+path, query
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := i.Client().Do(request)
	if err != nil {
		i.T.Fatalf("%s %s: %v", method, target, err)
	}
	answer, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		i.T.Fatal(err, closed)
	}
	return response.StatusCode, answer
}

// With any text in paths, queries and bodies, no operation returns a server error, and the server keeps serving.
func TestHostileInputIsNoFault(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine))
			server := s.Start()
			session := server.CreateSession(nil)
			project := programtest.Text(server.Want(http.StatusOK, http.MethodPost, "/api/projects", programtest.Object{"name": "p"}), "project",
				"projectId")
			check := func(method, target, body string) {
				t.Helper()
				status, answer := sendRaw(server, method, target, body)
				if status == http.StatusInternalServerError || status >= 500 && !json.Valid(answer) {
					t.Errorf("%s %s %.200s answered %d %.300s", method, target, body, status, answer)
				}
			}
			for _, operation := range api.Operations() {
				if operation.Path == "/api/stream" || operation.Path == "/api/account/logout" ||
					strings.HasPrefix(operation.Path, "/api/agents") {
					continue
				}
				if strings.Contains(operation.Path, "{") {
					for _, parameter := range hostileParameters {
						target := operation.Path
						for strings.Contains(target, "{") {
							before, rest, _ := strings.Cut(target, "{")
							_, after, _ := strings.Cut(rest, "}")
							target = before + parameter + after
						}
						check(operation.Method, target, strings.ReplaceAll(hostileBodies[operation.Path], "TEXT", `"x"`))
					}
				}
				own := strings.NewReplacer("{sessionId}", session, "{projectId}", project, "{turnId}", "t", "{approvalId}", "a",
					"{requestId}", "r", "{jobId}", "j", "{key}", "k", "{serverName}", "s").Replace(operation.Path)
				if template, ok := hostileBodies[operation.Path]; ok && operation.Method == http.MethodPost {
					for _, hostile := range hostileTexts {
						check(operation.Method, own, strings.ReplaceAll(template, "TEXT", hostile))
					}
				}
				if operation.Method == http.MethodGet && operation.Path != "/agui/{sessionId}" { // that answer does not end
					for _, query := range []string{"limit=%00", "cursor=%00", "cursor=%ff", "limit=1e999", "limit=9223372036854775808",
						"before=%00", "after=%ff", "around=%00", "state=%00", "key=%00&scope=session",
						"cursor=2026-01-01T00:00:00.000Z%7C%00", "%00=%00", "a&b=%zz;c", "threadId=%00"} {
						check(http.MethodGet, own+"?"+query, "")
					}
				}
			}
			server.Want(http.StatusOK, http.MethodGet, "/api/sessions", nil)
			server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
			server.Want(http.StatusOK, http.MethodGet, "/api/sessions/"+session+"?limit=1000", nil)
			server.Stop()
		})
	}
}

// The server refuses a document of maximum nesting, or stores and returns it. The document never makes a session, or
// with the defaults the server, unreadable.
func TestDeepNestingBreaksNothing(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start()
	session := server.CreateSession(nil)
	for _, depth := range []int{100, 500, 1000, 5000, 9990, 9996, 9997, 9998, 9999, 10000, 100_000} {
		value := strings.Repeat("[", depth) + strings.Repeat("]", depth)
		for _, scope := range []string{"session", "default"} {
			if status, answer := sendRaw(server, http.MethodPost, "/api/sessions/"+session+"/settings",
				`{"scope":"`+scope+`","key":"k","value":`+value+`}`); status >= 500 {
				t.Errorf("depth %d as %s setting answered %d %.200s", depth, scope, status, answer)
			}
		}
		for _, target := range []string{"/api/sessions", "/api/sessions/" + session, "/api/sessions/" + session +
			"/settings?scope=default"} {
			if status, answer := sendRaw(server, http.MethodGet, target, ""); status != http.StatusOK {
				t.Fatalf("after depth %d %s answered %d %.200s", depth, target, status, answer)
			}
		}
	}
	server.Stop()
}
