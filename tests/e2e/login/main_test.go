// Package login tests, on whole servers, how people log in at OpenID Connect providers and how workloads get access
// with their tokens.
package login

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"harness/tests/oidctest"
	"harness/tests/programtest"
)

func TestMain(m *testing.M) { programtest.Main(m) }

// front is a proxy in front of a server, with an address that the providers know before the server starts. Like a
// proxy, it keeps the host of the request.
func front(t *testing.T) (address string, to func(server *programtest.Server)) {
	t.Helper()
	var target atomic.Pointer[url.URL]
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target.Load())
		r.Out.Host = r.In.Host
	}})
	t.Cleanup(proxy.Close)
	return proxy.URL, func(server *programtest.Server) {
		u, err := url.Parse(server.URL)
		if err != nil {
			t.Fatal(err)
		}
		target.Store(u)
	}
}

// providers writes a HARNESS_OIDC_FILE, and the file with the secret of its clients.
func providers(t *testing.T, entries ...map[string]any) string {
	t.Helper()
	text, err := json.Marshal(entries)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "oidc.json")
	for name, content := range map[string][]byte{path: text, filepath.Join(filepath.Dir(path), "secret"): []byte(clientSecret)} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

const (
	ownersToken  = "the-owners-token-of-these-tests"
	clientSecret = "the-secret-of-the-client"
)

// client returns the configuration of this server's client at a provider.
func client(id, address, provider string) map[string]any {
	return map[string]any{"client_id": id, "client_secret": clientSecret, "redirect_uris": []string{address + "/api/login/oidc/" + provider + "/callback"},
		"grant_types":            []string{"authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"},
		"backchannel_logout_uri": address + "/api/login/oidc/" + provider + "/backchannel-logout"}
}

// start runs a server with the providers of a file.
func start(t *testing.T, file string, env ...string) *programtest.Server {
	t.Helper()
	return programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(append(env, "HARNESS_AUTH_TOKEN="+ownersToken,
		"HARNESS_OIDC_FILE="+file, "HARNESS_ROLE_MAP=engineers=operator,Harness.Reader=viewer")...)).Start()
}

// me returns the server's response about the browser's caller.
func me(t *testing.T, browser *http.Client, address string) (status int, who programtest.Object) {
	t.Helper()
	answer, err := browser.Get(address + "/api/me") //nolint:noctx // the server is bounded by the test
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	if err := json.NewDecoder(answer.Body).Decode(&who); err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, who
}

// logIn logs a browser in at a provider and returns the resulting page.
func logIn(p *oidctest.Provider, browser *http.Client, address, name, login string) (status int, page string) {
	status, _, page = p.Enter(browser, address+"/api/login/oidc/"+name, url.Values{"login": {login}, "password": {"x"}})
	return status, page
}
