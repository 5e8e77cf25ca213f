package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/auth"
)

const (
	headerSecret = "shared-token-value"
	jwtSecret    = "a-key-of-thirty-two-characters-!"
)

func rbacNow() time.Time { return time.Date(2026, 11, 21, 4, 0, 0, 0, time.UTC) }

// signed returns a token with these claims.
func signed(t *testing.T, method jwt.SigningMethod, key any, claims map[string]any, header map[string]any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims(claims))
	for name, value := range header {
		token.Header[name] = value
	}
	text, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// unsigned assembles a token by hand.
func unsigned(header, claims, signature string) string {
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(header)) + "." + encode([]byte(claims)) + "." + signature
}

// variant is one form of a request, with the answers of list and reload; "" means allowed.
type variant struct {
	name    string
	remote  string
	headers [][2]string
	list    string
	reload  string
	actor   string
}

func (v variant) request(t *testing.T) *http.Request {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/agents/extensions", nil)
	r.RemoteAddr = "127.0.0.1:5000"
	if v.remote != "" {
		r.RemoteAddr = v.remote
	}
	for _, h := range v.headers {
		r.Header.Add(h[0], h[1])
	}
	return r
}

func both(name, code string, headers ...[2]string) variant {
	return variant{name: name, headers: headers, list: code, reload: code}
}

// disabledVariants, headerVariants and jwtVariants are the rows of the matrix.
func disabledVariants() []variant {
	var out []variant
	for _, remote := range []string{"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1"} {
		out = append(out, variant{name: "peer " + remote, remote: remote, actor: "local-disabled-rbac"})
	}
	for _, remote := range []string{"10.0.0.1:1", "8.8.8.8:443", "[2001:db8::1]:1", "[::ffff:10.0.0.1]:1",
		"nonsense", "@"} {
		out = append(out, variant{name: "peer " + remote, remote: remote, list: "rbac_disabled_remote_forbidden",
			reload: "rbac_disabled_remote_forbidden"},
			variant{name: "spoofing peer " + remote, remote: remote,
				headers: [][2]string{{"X-Forwarded-For", "127.0.0.1"}, {"X-Codex-Role", "owner"}},
				list:    "rbac_disabled_remote_forbidden", reload: "rbac_disabled_remote_forbidden"})
	}
	return append(out, variant{name: "role header ignored",
		headers: [][2]string{{"X-Codex-Role", "member"}, {"X-Codex-Actor", "me"}}, actor: "local-disabled-rbac"})
}

func headerVariants() []variant {
	token := [2]string{"X-Codex-Rbac-Token", headerSecret}
	role := func(value string) [2]string { return [2]string{"X-Codex-Role", value} }
	out := []variant{
		both("nothing", "missing_header_token"), both("role only", "missing_header_token", role("admin")),
		both("blank token", "missing_header_token", [2]string{"X-Codex-Rbac-Token", "  "}, role("admin")),
		both("wrong token of the same length", "invalid_header_token",
			[2]string{"X-Codex-Rbac-Token", strings.Repeat("x", len(headerSecret))}, role("admin")),
		both("wrong token of another length", "invalid_header_token", [2]string{"X-Codex-Rbac-Token", "x"}, role("admin")),
		both("wrong token before bad role", "invalid_header_token", [2]string{"X-Codex-Rbac-Token", "x"}, role("root")),
		both("two tokens", "invalid_header_token", token, token, role("admin")),
		both("token only", "missing_role", token), both("empty role", "missing_role", token, role("")),
		both("blank role", "missing_role", token, role("  ")),
		both("bearer counts for nothing", "missing_header_token", [2]string{"Authorization", "Bearer " + headerSecret},
			role("admin")),
		{name: "padded token", headers: [][2]string{{"X-Codex-Rbac-Token", "  " + headerSecret + " "}, role("admin")}},
		{name: "remote peer with token", remote: "10.1.1.1:5", headers: [][2]string{token, role("owner")}},
		{name: "actor", headers: [][2]string{token, role("owner"), {"X-Codex-Actor", " alice "}}, actor: "alice"},
		{name: "second spelling", headers: [][2]string{token, {"X-Codex-Rbac-Role", "system"}, {"X-Codex-Rbac-Actor", "bob"}},
			actor: "bob"},
		{name: "first spelling wins", headers: [][2]string{token, role("admin"), {"X-Codex-Rbac-Role", "root"},
			{"X-Codex-Actor", "a"}, {"X-Codex-Rbac-Actor", "b"}}, actor: "a"},
		{name: "second spelling of member", headers: [][2]string{token, {"X-Codex-Rbac-Role", "member"}},
			reload: "insufficient_role"},
	}
	for _, name := range []string{"root", "Admin", "ADMIN", "admin,owner", "admin owner", "members", "null", "admin\x00"} {
		out = append(out, both("role "+name, "invalid_role", token, role(name)))
	}
	out = append(out, both("two roles", "invalid_role", token, role("member"), role("admin")))
	for _, name := range []string{"admin", "owner", "system", " admin "} {
		out = append(out, variant{name: "role " + name, headers: [][2]string{token, role(name)}})
	}
	return append(out, variant{name: "role member", headers: [][2]string{token, role("member")},
		reload: "insufficient_role"})
}

func jwtVariants(t *testing.T) []variant {
	key := []byte(jwtSecret)
	now := rbacNow().Unix()
	claims := func(changes map[string]any) map[string]any {
		all := map[string]any{"sub": "user-1", "role": "admin", "iat": now, "exp": now + 60, "iss": "us", "aud": "harness"}
		for name, value := range changes {
			if all[name] = value; value == nil {
				delete(all, name)
			}
		}
		return all
	}
	bearer := func(token string) [2]string { return [2]string{"Authorization", "Bearer " + token} }
	good := signed(t, jwt.SigningMethodHS256, key, claims(nil), nil)
	out := []variant{
		both("nothing", "missing_bearer_token"), both("empty", "missing_bearer_token", [2]string{"Authorization", ""}),
		both("blank", "missing_bearer_token", [2]string{"Authorization", "   "}),
		both("role header counts for nothing", "missing_bearer_token", [2]string{"X-Codex-Role", "admin"},
			[2]string{"X-Codex-Rbac-Token", headerSecret}),
		both("basic", "invalid_authorization_header", [2]string{"Authorization", "Basic abc"}),
		both("scheme only", "invalid_authorization_header", [2]string{"Authorization", "Bearer"}),
		both("no scheme", "invalid_authorization_header", [2]string{"Authorization", good}),
		both("garbage", "invalid_bearer_token", bearer("garbage")), both("two dots", "invalid_bearer_token", bearer("a.b.c")),
		both("two headers", "invalid_bearer_token", bearer(good), bearer(good)),
		both("too long", "invalid_bearer_token",
			bearer(signed(t, jwt.SigningMethodHS256, key, claims(map[string]any{"pad": strings.Repeat("x", 9000)}), nil))),
		{name: "any case of scheme", headers: [][2]string{{"Authorization", "bEARER    " + good}}, actor: "user-1"},
		{name: "headers cannot change the claims", headers: [][2]string{bearer(good), {"X-Codex-Role", "member"},
			{"X-Codex-Actor", "eve"}}, actor: "user-1"},
		{name: "remote peer", remote: "10.1.1.1:5", headers: [][2]string{bearer(good)}, actor: "user-1"},
	}
	token := func(name, code string, changes map[string]any) {
		out = append(out, both(name, code, bearer(signed(t, jwt.SigningMethodHS256, key, claims(changes), nil))))
	}
	token("expired", "invalid_bearer_token", map[string]any{"exp": now - 60})
	token("not yet", "invalid_bearer_token", map[string]any{"nbf": now + 60})
	token("exp is text", "invalid_bearer_token", map[string]any{"exp": "tomorrow"})
	token("nbf is beyond all time", "invalid_bearer_token", map[string]any{"nbf": 1e300})
	token("exp is beyond all time", "invalid_bearer_token", map[string]any{"exp": 1e300})
	token("nbf is text", "invalid_bearer_token", map[string]any{"nbf": "1"})
	token("wrong issuer", "invalid_bearer_token", map[string]any{"iss": "them"})
	token("no issuer", "invalid_bearer_token", map[string]any{"iss": nil})
	token("wrong audience", "invalid_bearer_token", map[string]any{"aud": "else"})
	token("wrong audiences", "invalid_bearer_token", map[string]any{"aud": []string{"x", "y"}})
	token("no audience", "invalid_bearer_token", map[string]any{"aud": nil})
	token("no role", "invalid_role_claim", map[string]any{"role": nil})
	for _, role := range []any{5, true, []string{}, []string{"root"}, map[string]string{"admin": "admin"}, "root", "Admin",
		"admin,owner", "", " "} {
		token(fmt.Sprintf("role %v", role), "invalid_role_claim", map[string]any{"role": role})
	}
	token("within the leeway", "", map[string]any{"exp": now - 2})
	token("nbf within the leeway", "", map[string]any{"nbf": now + 2})
	token("no exp", "", map[string]any{"exp": nil})
	token("issued in the future", "", map[string]any{"iat": now + 600})
	token("audience in a list", "", map[string]any{"aud": []string{"x", "harness"}})
	token("padded role", "", map[string]any{"role": " admin "})
	token("owner", "", map[string]any{"role": "owner"})
	token("list", "", map[string]any{"role": []string{"member", "admin"}})
	token("system", "", map[string]any{"role": "system"})
	token("no actor", "", map[string]any{"sub": nil})
	token("actor is a number", "", map[string]any{"sub": 7})
	out = append(out, variant{name: "member",
		headers: [][2]string{bearer(signed(t, jwt.SigningMethodHS256, key, claims(map[string]any{"role": "member"}), nil))},
		reload:  "insufficient_role", actor: "user-1"})
	for _, method := range []jwt.SigningMethod{jwt.SigningMethodHS384, jwt.SigningMethodHS512} {
		out = append(out, both(method.Alg(), "", bearer(signed(t, method, key, claims(nil), nil))))
	}
	// Forgeries: another key, no signature, a public key used as a secret, critical headers, a changed payload.
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	publicPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})
	payload, err := json.Marshal(claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	owner, err := json.Marshal(claims(map[string]any{"role": "owner"}))
	if err != nil {
		t.Fatal(err)
	}
	for name, forged := range map[string]string{
		"wrong key": signed(t, jwt.SigningMethodHS256, []byte("another key of some length......"),
			claims(nil), nil),
		"empty key":         signed(t, jwt.SigningMethodHS256, []byte{}, claims(nil), nil),
		"public key as key": signed(t, jwt.SigningMethodHS256, publicPEM, claims(nil), nil),
		"RS256":             signed(t, jwt.SigningMethodRS256, private, claims(nil), nil),
		"alg none":          unsigned(`{"alg":"none","typ":"JWT"}`, string(payload), ""),
		"alg None":          unsigned(`{"alg":"None"}`, string(payload), ""),
		"alg none, signed":  unsigned(`{"alg":"none"}`, string(payload), parts[2]),
		"no alg":            unsigned(`{"typ":"JWT"}`, string(payload), parts[2]),
		"alg is a list":     unsigned(`{"alg":["HS256"]}`, string(payload), parts[2]),
		"lower case alg":    unsigned(`{"alg":"hs256"}`, string(payload), parts[2]),
		"crit": signed(t, jwt.SigningMethodHS256, key, claims(nil),
			map[string]any{"crit": []string{"x"}, "x": 1}),
		"changed payload":     parts[0] + "." + base64.RawURLEncoding.EncodeToString(owner) + "." + parts[2],
		"no signature":        parts[0] + "." + parts[1] + ".",
		"cut signature":       good[:len(good)-4],
		"payload is no JSON":  unsigned(`{"alg":"HS256"}`, `nonsense`, parts[2]),
		"payload is a string": unsigned(`{"alg":"HS256"}`, `"x"`, parts[2]),
		"five parts (JWE)":    "a.b.c.d.e",
	} {
		out = append(out, both(name, "invalid_bearer_token", bearer(forged)))
	}
	return out
}

// TestRBACMatrix_LC07_to_LC18 checks every mode, variant and route against its expected code.
func TestRBACMatrix_LC07_to_LC18(t *testing.T) {
	t.Parallel()
	rules := func(mode auth.RBACMode) *auth.RBAC {
		return auth.NewRBAC(auth.RBACOptions{Mode: mode, HeaderSecret: headerSecret, JWTSecret: jwtSecret, JWTIssuer: "us",
			JWTAudience: "harness", Clock: rbacNow})
	}
	statuses := map[string]struct {
		http   int
		status string
	}{
		"rbac_disabled_remote_forbidden": {403, "forbidden"}, "missing_header_token": {401, "unauthorized"},
		"invalid_header_token": {401, "unauthorized"}, "missing_role": {401, "unauthorized"}, "invalid_role": {400, "error"},
		"missing_bearer_token": {401, "unauthorized"}, "invalid_authorization_header": {401, "unauthorized"},
		"invalid_bearer_token": {401, "unauthorized"},
		"invalid_role_claim":   {403, "forbidden"}, "insufficient_role": {403, "forbidden"},
	}
	cases, codes := 0, map[string]bool{}
	for mode, variants := range map[auth.RBACMode][]variant{auth.RBACDisabled: disabledVariants(),
		auth.RBACHeader: headerVariants(), auth.RBACJWT: jwtVariants(t)} {
		for _, v := range variants {
			for _, route := range []struct {
				name    string
				want    string
				allowed []auth.Role
			}{
				{"list", v.list, []auth.Role{auth.RoleMember, auth.RoleAdmin, auth.RoleOwner, auth.RoleSystem}},
				{"reload", v.reload, []auth.Role{auth.RoleAdmin, auth.RoleOwner, auth.RoleSystem}},
			} {
				cases++
				codes[route.want] = true
				principal, refusal := rules(mode).Authorize(v.request(t), route.allowed...)
				got := ""
				if refusal != nil {
					got = refusal.Code
					if want := statuses[got]; refusal.HTTPStatus != want.http || refusal.Status != want.status {
						t.Errorf("%s, %s, %s: %d %s", mode, v.name, route.name, refusal.HTTPStatus, refusal.Status)
					}
				}
				if got != route.want {
					t.Errorf("%s, %s, %s: %q, want %q", mode, v.name, route.name, got, route.want)
				}
				if got == "" && (!principal.Role.Valid() || (v.actor != "" && principal.Actor != v.actor)) {
					t.Errorf("%s, %s, %s: let in as %+v", mode, v.name, route.name, principal)
				}
			}
		}
	}
	if cases < 120 || len(codes) != len(statuses)+1 {
		t.Errorf("%d cases with %d codes", cases, len(codes))
	}
}

// LC-17: the refusal names the required roles in the form that clients parse.
func TestInsufficientRole_LC17(t *testing.T) {
	t.Parallel()
	rules := auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACHeader})
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("X-Codex-Role", "member")
	principal, refusal := rules.Authorize(r, auth.RoleAdmin, auth.RoleOwner, auth.RoleSystem)
	encoded, err := json.Marshal(refusal)
	want := `{"status":"forbidden","code":"insufficient_role","required":["admin","owner","system"],"role":"member"}`
	if err != nil || string(encoded) != want || principal.Role != auth.RoleMember {
		t.Errorf("got %s, %+v, %v", encoded, principal, err)
	}
}

// A server of mode jwt without a key refuses all requests.
func TestJWTWithoutKey(t *testing.T) {
	t.Parallel()
	rules := auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACJWT, JWTSecret: " "})
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+unsigned(`{"alg":"HS256"}`, `{"role":"admin"}`, ""))
	if _, refusal := rules.Authorize(r, auth.RoleAdmin); refusal == nil || refusal.HTTPStatus != 500 ||
		refusal.Code != "rbac_misconfigured" {
		t.Errorf("got %+v", refusal)
	}
}

// Tokens that never expire are accepted unless the operator refuses them; until then the rules warn about it.
func TestJWTWithoutExpiry(t *testing.T) {
	t.Parallel()
	claims := map[string]any{"sub": "user-1", "role": "admin"}
	forEver := signed(t, jwt.SigningMethodHS256, []byte(jwtSecret), claims, nil)
	claims["exp"] = rbacNow().Unix() + 60
	expiring := signed(t, jwt.SigningMethodHS256, []byte(jwtSecret), claims, nil)
	for _, required := range []bool{false, true} {
		opts := auth.RBACOptions{Mode: auth.RBACJWT, JWTSecret: jwtSecret, JWTRequireExp: required, Clock: rbacNow}
		if warned := strings.Contains(opts.Warning(), "AGENT_EXTENSION_RBAC_JWT_REQUIRE_EXP=true"); warned == required {
			t.Errorf("required %v: warning %q", required, opts.Warning())
		}
		for name, token := range map[string]string{"expiring": expiring, "for ever": forEver} {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.Header.Set("Authorization", "Bearer "+token)
			_, refusal := auth.NewRBAC(opts).Authorize(r, auth.RoleAdmin)
			refused := refusal != nil && refusal.HTTPStatus == http.StatusUnauthorized && refusal.Code == "missing_exp_claim"
			if want := required && name == "for ever"; refused != want || refusal != nil && !want {
				t.Errorf("required %v, token %s: %+v", required, name, refusal)
			}
		}
	}
	for _, mode := range []auth.RBACMode{auth.RBACDisabled, auth.RBACHeader} {
		if warning := (&auth.RBACOptions{Mode: mode}).Warning(); warning != "" {
			t.Errorf("mode %s warns of %q", mode, warning)
		}
	}
}
