package access

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/tests/programtest"
)

// Tokens that never expire are accepted as in codex-manager, with one warning at start. They are refused if the
// operator configures that.
func TestTokensWithoutExpiry(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-this-test-is-long-enough"
	forEver, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "ci", "role": "admin"}).
		SignedString([]byte(key))
	if err != nil {
		t.Fatal(err)
	}
	for _, required := range []bool{false, true} {
		env := []string{"CODEX_BIN=/nowhere/codex", "AGENT_EXTENSION_RBAC_MODE=jwt", "AGENT_EXTENSION_RBAC_JWT_SECRET=" + key}
		status, warnings := http.StatusOK, 1
		if required {
			env = append(env, "AGENT_EXTENSION_RBAC_JWT_REQUIRE_EXP=true")
			status, warnings = http.StatusUnauthorized, 0
		}
		server := programtest.New(t, programtest.WithEnv(env...)).Start()
		got, body := server.Ask(http.MethodGet, "/api/agents/extensions",
			map[string]string{"Authorization": "Bearer " + forEver})
		if got != status || strings.Contains(body, "missing_exp_claim") != required {
			t.Errorf("exp required %v: answered %d %s", required, got, body)
		}
		server.Stop()
		if n := strings.Count(server.Log(), "AGENT_EXTENSION_RBAC_JWT_REQUIRE_EXP"); n != warnings {
			t.Errorf("exp required %v: %d warnings", required, n)
		}
	}
}

// A browser logs in with a signed token. Its cookie has the token's end, role and projects, on the extension routes
// too.
func TestASignedTokenLogsABrowserIn(t *testing.T) {
	t.Parallel()
	const key = "the-key-of-this-test-is-long-enough"
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex", "HARNESS_AUTH_TOKEN=the-token-of-this-very-test",
		"AGENT_EXTENSION_RBAC_MODE=jwt", "AGENT_EXTENSION_RBAC_JWT_SECRET="+key)).Start()
	login := func(claims jwt.MapClaims) (status int, cookie *http.Cookie) {
		t.Helper()
		token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(key))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Post(server.URL+"/api/login", "application/json", strings.NewReader(`{"token":"`+token+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		if cookies := answer.Cookies(); len(cookies) == 1 {
			cookie = cookies[0]
		}
		return answer.StatusCode, cookie
	}
	ask := func(cookie *http.Cookie, method, path, says string, want int) {
		t.Helper()
		status, body := server.Ask(method, path, map[string]string{"Cookie": cookie.Name + "=" + cookie.Value})
		if status != want || !strings.Contains(body, says) {
			t.Errorf("%s %s is answered %d %s, want %d %s", method, path, status, body, want, says)
		}
	}
	status, cookie := login(jwt.MapClaims{"sub": "ann", "role": "member", "exp": time.Now().Add(time.Hour).Unix()})
	if status != http.StatusOK || cookie == nil || cookie.MaxAge > 3600 || cookie.MaxAge < 3000 {
		t.Fatalf("logged in with %d %v", status, cookie)
	}
	ask(cookie, http.MethodGet, "/api/me", `"actor":"jwt:ann","role":"viewer","allowed":["read"],"login":true`, http.StatusOK)
	ask(cookie, http.MethodPost, "/api/sessions", "insufficient_role", http.StatusForbidden)
	ask(cookie, http.MethodGet, "/api/agents/extensions", "", http.StatusOK)
	ask(cookie, http.MethodPost, "/api/agents/extensions/reload", "insufficient_role", http.StatusForbidden)
	if _, cookie = login(jwt.MapClaims{"sub": "bob", "role": "operator", "projects": []string{"p"}}); cookie == nil {
		t.Fatal("a token limited to a project does not log in")
	}
	ask(cookie, http.MethodGet, "/api/me", `"projects":["p"]`, http.StatusOK)
	// A login with another token has not ended: it is refused with what these routes need. CO-24
	answer, err := http.Post(server.URL+"/api/login", "application/json", strings.NewReader(`{"token":"the-token-of-this-very-test"}`))
	if err != nil || len(answer.Cookies()) != 1 || answer.Body.Close() != nil {
		t.Fatalf("the owner's login: %v %v", answer, err)
	}
	ask(answer.Cookies()[0], http.MethodGet, "/api/agents/extensions", "This page needs a signed token", http.StatusForbidden)
	ask(answer.Cookies()[0], http.MethodPost, "/api/agents/extensions/reload", "signed_token_required", http.StatusForbidden)
	if status, body := server.Ask(http.MethodGet, "/api/agents/extensions", nil); status != http.StatusUnauthorized ||
		strings.Contains(body, "signed token") {
		t.Errorf("a program is answered %d %s", status, body)
	}
	ask(cookie, http.MethodGet, "/api/tokens", "", http.StatusForbidden)
	for _, bad := range []jwt.MapClaims{{"role": "agent"}, {"role": "admin", "exp": 1}} {
		if status, cookie = login(bad); status == http.StatusOK || cookie != nil {
			t.Errorf("%v logs in with %d %v", bad, status, cookie)
		}
	}
	server.Stop()
}
