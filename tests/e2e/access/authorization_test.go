package access

import (
	"net/http"
	"strings"
	"testing"

	"harness/api"
	"harness/tests/programtest"
)

// No operation is left unguarded. With a token, each refuses a request without it, except the health probes. Without
// a token, each refuses changes from a foreign page, and every caller that uses another host name. No other spelling
// of an open path reaches an operation.
func TestEveryOperationIsGuarded(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-this-very-test"
	closed, open := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+token)).Start(), programtest.New(t).Start()
	// A probe has no token. Neither has a browser that reads the documentation, logs in (here without a method) or logs
	// out.
	tokenless := map[string]int{"/api/health": 200, "/api/ready": 200, "/readyz": 200, "/healthz": 200, "/api/docs": 200,
		"/api/openapi.json": 200, "/api/asyncapi.json": 200, "/api/login": 400, "/api/logout": 200,
		// Without a provider there is no login.
		"/api/login/methods": 200, "/api/login/oidc/{provider}": 404, "/api/login/oidc/{provider}/callback": 404,
		"/api/login/oidc/{provider}/backchannel-logout": 404, "/api/login/oidc/{provider}/device": 404,
		"/api/login/oidc/{provider}/device/token": 404}
	closed.AwaitRuntime()
	for _, operation := range api.Operations() {
		path := strings.NewReplacer("{", "", "}", "").Replace(operation.Path)
		for _, headers := range []map[string]string{{}, {"Authorization": "Bearer wrong"},
			{"Authorization": "Basic " + token}, {"X-Forwarded-For": "127.0.0.1"},
			{"Cookie": "access_token=" + token}} {
			want, is := tokenless[operation.Path]
			if !is {
				want = http.StatusUnauthorized
			}
			status, body := closed.Ask(operation.Method, path+"?access_token="+token, headers)
			// Wrong tokens arrive here faster than the server's rate limit allows.
			braked := !is && status == http.StatusTooManyRequests && headers["Authorization"] == "Bearer wrong"
			if status != want && !braked || strings.Contains(body, token) {
				t.Errorf("%s %s with %v is answered %d %s", operation.Method, path, headers, status, body)
			}
		}
		if operation.Method != http.MethodGet {
			for _, headers := range []map[string]string{{"Origin": "https://evil.example"}, {"Origin": "null"},
				{"Sec-Fetch-Site": "cross-site"}, {"Origin": open.URL + ".evil.example"}} {
				if status, body := open.Ask(operation.Method, path, headers); status != http.StatusForbidden ||
					!strings.Contains(body, "forbidden_origin") {
					t.Errorf("%s %s with %v is answered %d %s", operation.Method, path, headers, status, body)
				}
			}
		}
		probe := path == "/healthz" || path == "/readyz" // load balancers send any host name
		if status, body := open.Ask(operation.Method, path,
			map[string]string{"Host": "rebound.example"}); !probe && status != http.StatusForbidden ||
			probe == strings.Contains(body, "forbidden_host") {
			t.Errorf("%s %s under another name is answered %d %s", operation.Method, path, status, body)
		}
	}
	for _, path := range []string{"/api/health/../sessions", "/api/health/%2e%2e/sessions", "/api/health%2f..%2fsessions",
		"//api/sessions", "/api//sessions", "/api/%68ealth/", "/API/sessions",
		"/api/sessions?/api/health", "/api/sessions#/api/health", "/api/sessions;/api/health"} {
		if status, body := sendRaw(closed, http.MethodGet, path, ""); status != http.StatusUnauthorized {
			t.Errorf("%s is answered %d %s", path, status, body)
		}
	}
	closed.Stop()
	open.Stop()
}
