package auth_test

import (
	"context"
	"crypto/elliptic"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/auth"
)

// A signed token works wherever a token does, also on sockets, with its own role, actor and projects. A connection
// opened with it ends with it. An invalid one never gives its holder more rights, and the extension routes word its
// refusal themselves.
func TestGuardKnowsSignedTokens(t *testing.T) {
	t.Parallel()
	key := ecKey(t, elliptic.P256())
	keys := newIssuer(t)
	keys.publish(published(t, "k", key))
	ends := time.Now().Add(time.Hour).Unix()
	claims := func(more map[string]any) map[string]any {
		all := map[string]any{"sub": "ann", "role": "operator", "exp": ends}
		for name, value := range more {
			all[name] = value
		}
		return all
	}
	es256 := func(more map[string]any) string {
		return signed(t, jwt.SigningMethodES256, key, claims(more), map[string]any{"kid": "k"})
	}
	hs256 := func(more map[string]any) string {
		return signed(t, jwt.SigningMethodHS256, []byte(jwtSecret), claims(more), nil)
	}
	const extensions = "/api/agents/extensions"
	upgrade := func(more ...string) []string {
		return append([]string{"Connection", "Upgrade", "Upgrade", "websocket"}, more...)
	}
	bearer := func(token string) []string { return []string{"Authorization", "Bearer " + token} }
	for name, c := range map[string]struct {
		owner, peer, target string
		headers             []string
		actor               string // "" is refused with code
		role                auth.Role
		projects            []string
		code                string
	}{
		"HS256":               {token, "10.0.0.9:5", "/api/sessions", bearer(hs256(nil)), "jwt:ann", auth.RoleOperator, nil, ""},
		"ES256":               {token, "10.0.0.9:5", "/api/sessions", bearer(es256(nil)), "jwt:ann", auth.RoleOperator, nil, ""},
		"second header":       {token, "10.0.0.9:5", "/v1/sessions", []string{"X-Harness-Token", es256(nil)}, "jwt:ann", auth.RoleOperator, nil, ""},
		"a socket's query":    {token, "10.0.0.9:5", "/api/stream?access_token=" + es256(nil), upgrade(), "jwt:ann", auth.RoleOperator, nil, ""},
		"a subprotocol":       {token, "10.0.0.9:5", "/rpc", upgrade("Sec-WebSocket-Protocol", "bearer."+hs256(nil)), "jwt:ann", auth.RoleOperator, nil, ""},
		"no token is set":     {"", "127.0.0.1:5", "/api/sessions", bearer(es256(map[string]any{"role": "viewer"})), "jwt:ann", auth.RoleMember, nil, ""},
		"member reads":        {"", "127.0.0.1:5", "/api/sessions", bearer(es256(map[string]any{"role": "member"})), "jwt:ann", auth.RoleMember, nil, ""},
		"projects":            {token, "10.0.0.9:5", "/api/sessions", bearer(es256(map[string]any{"projects": []string{"b", "a"}})), "jwt:ann", auth.RoleOperator, []string{"a", "b"}, ""},
		"no projects":         {token, "10.0.0.9:5", "/api/sessions", bearer(es256(map[string]any{"projects": []string{}})), "jwt:ann", auth.RoleOperator, []string{}, ""},
		"projects, no list":   {token, "10.0.0.9:5", "/api/sessions", bearer(es256(map[string]any{"projects": "a"})), "", "", nil, "invalid_projects_claim"},
		"an agent's role":     {token, "10.0.0.9:5", "/api/sessions", bearer(es256(map[string]any{"role": "agent"})), "", "", nil, "invalid_role_claim"},
		"no role":             {token, "10.0.0.9:5", "/api/sessions", bearer(es256(map[string]any{"role": nil})), "", "", nil, "invalid_role_claim"},
		"expired":             {token, "10.0.0.9:5", "/api/sessions", bearer(es256(map[string]any{"exp": 1})), "", "", nil, "invalid_bearer_token"},
		"forged":              {token, "10.0.0.9:5", "/api/sessions", bearer(hs256(nil) + "x"), "", "", nil, "invalid_bearer_token"},
		"forged, no token":    {"", "127.0.0.1:5", "/api/sessions", bearer(hs256(nil) + "x"), "", "", nil, "invalid_bearer_token"},
		"its own route":       {token, "10.0.0.9:5", extensions, bearer(es256(nil)), "jwt:ann", auth.RoleOperator, nil, ""},
		"forged, own route":   {"", "127.0.0.1:5", extensions, bearer(hs256(nil) + "x"), "local", auth.RoleAdmin, nil, ""},
		"forged, own, closed": {token, "10.0.0.9:5", extensions, bearer(hs256(nil) + "x"), "", "", nil, "unauthorized"},
		"the owner's token":   {token, "10.0.0.9:5", "/api/sessions", bearer(token), "token", auth.RoleOwner, nil, ""},
		"health asks nothing": {token, "10.0.0.9:5", "/api/health", bearer(hs256(nil) + "x"), "anonymous", auth.RoleMember, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACJWT, JWTSecret: jwtSecret, JWTKeys: auth.NewKeySet(keys.URL, nil)})
			var got *auth.Principal
			var access context.Context
			handler := auth.Guard(auth.Options{BoundHost: "127.0.0.1", Token: c.owner, Signed: auth.NewSigned(rules)})(
				http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
					p, _ := auth.PrincipalFrom(r.Context())
					got, access = &p, auth.AccessFrom(r.Context())
				}))
			r := httptest.NewRequest(http.MethodGet, c.target, nil)
			r.Host, r.RemoteAddr = "127.0.0.1", c.peer
			for i := 0; i < len(c.headers); i += 2 {
				r.Header.Set(c.headers[i], c.headers[i+1])
			}
			w := httptest.NewRecorder()
			handler.ServeHTTP(w, r)
			if c.actor == "" {
				if got != nil || !slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden}, w.Code) ||
					!strings.Contains(w.Body.String(), `"code":"`+c.code+`"`) {
					t.Errorf("%+v, %d %s", got, w.Code, w.Body)
				}
				return
			}
			if got == nil || got.Actor != c.actor || got.Role != c.role || !slices.Equal(got.Projects.IDs(), c.projects) ||
				(got.Projects == nil) != (c.projects == nil) {
				t.Fatalf("%+v, %d %s", got, w.Code, w.Body)
			}
			if _, limited := access.Deadline(); got.Signed != limited {
				t.Errorf("what is opened by it ends: %v", limited)
			}
		})
	}
}
