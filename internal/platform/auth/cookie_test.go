package auth_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/auth"
)

// A login's cookie is only for the server's own pages: it authenticates no other page's request. If the request also
// carries a token, only the token counts.
func TestGuardTakesTheCookieOfALogin(t *testing.T) {
	t.Parallel()
	const named1 = "hrn_good"
	rules := auth.Options{BoundHost: "0.0.0.0", Token: token, AllowedOrigins: []string{"http://localhost:5173"},
		AllowedHosts: []string{"h.example"}, Named: named{secret: named1, access: context.Background(), any: true}}
	own, upgrade := "Origin: http://127.0.0.1:3001", []string{"Connection: Upgrade", "Upgrade: websocket"}
	value := func(secret string) string { return base64.RawURLEncoding.EncodeToString([]byte(secret)) }
	cookie := func(secret string, more ...string) []string {
		return append([]string{"Cookie: a=b; harness_login_3001=" + value(secret)}, more...)
	}
	run(t, rules, []request{
		{name: "read", method: "GET", path: "/api/sessions", headers: cookie(token), want: 200},
		{name: "named", method: "GET", path: "/api/sessions", headers: cookie(named1), want: 200},
		{name: "write", method: "POST", path: "/api/sessions", headers: cookie(token, own), want: 200},
		{name: "socket", method: "GET", path: "/api/stream", headers: cookie(token, append(upgrade, own)...), want: 200},
		{name: "own fetch", method: "GET", path: "/api/me", headers: cookie(token, "Sec-Fetch-Site: same-origin"), want: 200},

		{name: "not of ours", method: "GET", path: "/api/sessions", headers: []string{"Cookie: harness_login_3001=%%"},
			want: 401, code: "unauthorized"},
		{name: "wrong", method: "GET", path: "/api/sessions", headers: cookie("wrong"), want: 401, code: "unauthorized"},
		{name: "ended", method: "GET", path: "/api/sessions", headers: cookie("hrn_gone"), want: 401, code: "unauthorized"},
		{name: "another port's", method: "GET", path: "/api/sessions", headers: []string{"Cookie: harness_login_3002=" + value(token)},
			want: 401, code: "unauthorized"},
		{name: "twice", method: "GET", path: "/api/sessions",
			headers: []string{"Cookie: harness_login_3001=" + value(token) + "; harness_login_3001=x"}, want: 401, code: "unauthorized"},
		{name: "a header that counts not", method: "GET", path: "/api/sessions",
			headers: cookie(token, "Authorization: Bearer hrn_gone"), want: 401, code: "unauthorized"},
		{name: "a listed origin", method: "POST", path: "/api/sessions", headers: cookie(token, "Origin: http://localhost:5173"),
			want: 401, code: "unauthorized"},
		{name: "a listed origin's socket", method: "GET", path: "/api/stream",
			headers: cookie(token, append(upgrade, "Origin: http://localhost:5173")...), want: 401, code: "unauthorized"},
		{name: "another page of this host", method: "GET", path: "/api/sessions",
			headers: cookie(token, "Sec-Fetch-Site: same-site"), want: 401, code: "unauthorized"},
		{name: "a foreign origin", method: "POST", path: "/api/login", headers: []string{"Origin: https://evil.example"},
			want: 403, code: "forbidden_origin"},
		{name: "login", method: "POST", path: "/api/login", headers: []string{own}, want: 200},
		{name: "logout", method: "POST", path: "/api/logout", headers: cookie("hrn_gone", own), want: 200},
		{name: "who am I", method: "GET", path: "/api/me", want: 401, code: "unauthorized"},
	})
}

// The cookie holds the token, is not readable by scripts, and is sent only over TLS if the browser used TLS.
func TestTheCookieOfALogin(t *testing.T) {
	t.Parallel()
	rules := auth.Options{Token: token, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}}
	logins := auth.NewLogins(rules, "/below/")
	r := httptest.NewRequest(http.MethodPost, "/api/login", nil)
	r.Host, r.RemoteAddr = "h.example:8443", "10.0.0.1:5"
	if _, _, refusal := logins.Open(r, "wrong"); refusal == nil || refusal.Code != "unauthorized" {
		t.Error("a wrong token was accepted")
	}
	principal, cookie, refusal := logins.Open(r, " "+token+"\n")
	if refusal != nil || principal.Role != auth.RoleOwner || cookie.Value != base64.RawURLEncoding.EncodeToString([]byte(token)) || cookie.Name != "harness_login_8443" ||
		cookie.Path != "/below/" || !cookie.HttpOnly || cookie.Secure || cookie.SameSite != http.SameSiteStrictMode {
		t.Errorf("the cookie of a login is %+v of %+v", cookie, principal)
	}
	r.Header.Set("X-Forwarded-Proto", "https")
	if _, cookie, _ = logins.Open(r, token); !cookie.Secure {
		t.Error("the cookie goes over plain HTTP though the browser talks TLS")
	}
	if gone := logins.Close(r); gone.MaxAge >= 0 || gone.Value != "" || gone.Path != cookie.Path || gone.Name != cookie.Name {
		t.Errorf("logging out sets %+v", gone)
	}
}

// With an https address of the server, a cookie is sent only over TLS, whatever proxies report about the browser's
// connection. With another address, or none, the proxies' report decides.
func TestTheCookieIsSecureWithAnHTTPSAddress(t *testing.T) {
	t.Parallel()
	for public, always := range map[string]bool{"https://h.example": true, "HTTPS://h.example:8443/below": true,
		"http://h.example": false, "": false} {
		for _, proto := range []string{"", "http", "http, https", "https"} {
			for _, peer := range []string{"10.0.0.1:5", "127.0.0.1:5"} {
				rules := auth.Options{Token: token, PublicURL: public,
					TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")}}
				r := httptest.NewRequest(http.MethodPost, "/api/login", nil)
				r.RemoteAddr = peer
				r.Header.Set("X-Forwarded-Proto", proto)
				logins := auth.NewLogins(rules, "/")
				_, cookie, refusal := logins.Open(r, token)
				want := always || proto == "https" && peer == "10.0.0.1:5"
				if refusal != nil || cookie.Secure != want || logins.Close(r).Secure != want {
					t.Errorf("address %q, %q from %s: %+v, %v", public, proto, peer, cookie, refusal)
				}
			}
		}
	}
}

// A token may contain characters that a cookie may not.
func TestAnyTokenLogsIn(t *testing.T) {
	t.Parallel()
	const secret = `0123456789"a;b,c\d=e%f`
	rules := auth.Options{BoundHost: "127.0.0.1", Token: secret}
	r := httptest.NewRequest(http.MethodPost, "/api/login", nil)
	r.Host = "127.0.0.1:3001"
	_, cookie, refusal := auth.NewLogins(rules, "/").Open(r, secret)
	if refusal != nil {
		t.Fatalf("the token does not log in: %v", refusal)
	}
	run(t, rules, []request{{name: "read", method: "GET", path: "/api/sessions",
		headers: []string{"Cookie: " + cookie.Name + "=" + cookie.Value}, want: 200}})
}

// A signed token logs in until it expires. It does not if it is invalid, or if browsers would not keep it.
func TestASignedTokenLogsIn(t *testing.T) {
	t.Parallel()
	rules := auth.Options{Token: token,
		Signed: auth.NewSigned(auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACJWT, JWTSecret: jwtSecret}))}
	const month = 30 * 24 * 60 * 60
	now := time.Now().Unix()
	for name, c := range map[string]struct {
		claims   map[string]any
		longest  int
		refused  string
		shortest int
	}{
		"for an hour":  {map[string]any{"role": "viewer", "exp": now + 3600}, 3600, "", 3500},
		"for a year":   {map[string]any{"role": "viewer", "exp": now + 12*month}, month, "", month},
		"for ever":     {map[string]any{"role": "viewer"}, month, "", month},
		"just over":    {map[string]any{"role": "viewer", "exp": now}, 0, "invalid_bearer_token", 0},
		"long over":    {map[string]any{"role": "viewer", "exp": now - 3600}, 0, "invalid_bearer_token", 0},
		"without role": {map[string]any{"exp": now + 3600}, 0, "invalid_role_claim", 0},
		"too long":     {map[string]any{"role": "viewer", "groups": strings.Repeat("g", 3000)}, 0, "token_too_long", 0},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/login", nil)
		r.Host = "127.0.0.1:3001"
		_, cookie, refusal := auth.NewLogins(rules, "/").Open(r, signed(t, jwt.SigningMethodHS256, []byte(jwtSecret), c.claims, nil))
		switch {
		case c.refused != "":
			if refusal == nil || refusal.Code != c.refused || refusal.Words() == "" {
				t.Errorf("%s: refused with %v, want %s", name, refusal, c.refused)
			}
		case refusal != nil || cookie.MaxAge > c.longest || cookie.MaxAge < c.shortest:
			t.Errorf("%s: kept by %+v (%v)", name, cookie, refusal)
		}
	}
}
