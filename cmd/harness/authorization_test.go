package main

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"harness/api"
)

// ask makes a request with headers and returns its status and body.
func (i *instance) ask(method, path string, headers map[string]string) (int, string) {
	i.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, i.url+path, nil)
	if err != nil {
		i.t.Fatal(err)
	}
	for name, value := range headers {
		if request.Header.Set(name, value); name == "Host" {
			request.Host = value
		}
	}
	response, err := i.client().Do(request)
	if err != nil {
		i.t.Fatalf("%s %s: %v", method, path, err)
	}
	body, err := io.ReadAll(response.Body)
	if closed := response.Body.Close(); err != nil || closed != nil {
		i.t.Fatal(err, closed)
	}
	return response.StatusCode, string(body)
}

// No operation is forgotten: with a token each refuses who does not have it, but for the probes of health; without one
// each refuses a foreign page what changes state, and everybody who calls the server by another name. None is reached
// by another spelling of an open path.
func TestEveryOperationIsGuarded(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-this-test"
	closed, open := newSite(t, withEnv("HARNESS_AUTH_TOKEN="+token)).start(), newSite(t).start()
	// A probe has no token, nor has a browser that looks at the documentation.
	tokenless := []string{"/api/health", "/api/ready", "/readyz", "/healthz", "/api/docs", "/api/openapi.json",
		"/api/asyncapi.json"}
	closed.awaitRuntime()
	for _, operation := range api.Operations() {
		path := strings.NewReplacer("{", "", "}", "").Replace(operation.Path)
		for _, headers := range []map[string]string{{}, {"Authorization": "Bearer wrong"},
			{"Authorization": "Basic " + token}, {"X-Forwarded-For": "127.0.0.1"},
			{"Cookie": "access_token=" + token}} {
			want := http.StatusUnauthorized
			if slices.Contains(tokenless, operation.Path) {
				want = http.StatusOK
			}
			if status, body := closed.ask(operation.Method, path+"?access_token="+token, headers); status != want ||
				strings.Contains(body, token) {
				t.Errorf("%s %s with %v is answered %d %s", operation.Method, path, headers, status, body)
			}
		}
		if operation.Method != http.MethodGet {
			for _, headers := range []map[string]string{{"Origin": "https://evil.example"}, {"Origin": "null"},
				{"Sec-Fetch-Site": "cross-site"}, {"Origin": open.url + ".evil.example"}} {
				if status, body := open.ask(operation.Method, path, headers); status != http.StatusForbidden ||
					!strings.Contains(body, "forbidden_origin") {
					t.Errorf("%s %s with %v is answered %d %s", operation.Method, path, headers, status, body)
				}
			}
		}
		if status, body := open.ask(operation.Method, path,
			map[string]string{"Host": "rebound.example"}); status != http.StatusForbidden || !strings.Contains(body,
			"forbidden_host") {
			t.Errorf("%s %s under another name is answered %d %s", operation.Method, path, status, body)
		}
	}
	for _, path := range []string{"/api/health/../sessions", "/api/health/%2e%2e/sessions", "/api/health%2f..%2fsessions",
		"//api/sessions", "/api//sessions", "/api/%68ealth/", "/API/sessions",
		"/api/sessions?/api/health", "/api/sessions#/api/health", "/api/sessions;/api/health"} {
		if status, body := closed.sendRaw(http.MethodGet, path, ""); status != http.StatusUnauthorized {
			t.Errorf("%s is answered %d %s", path, status, body)
		}
	}
	closed.stop()
	open.stop()
}
