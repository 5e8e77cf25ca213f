package auth_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"harness/internal/platform/auth"
)

// The shapes in which issuers put roles into their tokens.
var (
	keycloak = map[string]any{"sub": "ann", "azp": "harness", "scope": "openid profile",
		"realm_access": map[string]any{"roles": []any{"offline_access", "uma_authorization", "default-roles-work", "operator"}},
		"resource_access": map[string]any{
			"harness":          map[string]any{"roles": []any{"admin", "engineers"}},
			"harness.work.com": map[string]any{"roles": []any{"member"}},
			"account":          map[string]any{"roles": []any{"manage-account", "owner"}}},
		"groups": []any{"/engineers", "/engineers/leads"}}
	entra = map[string]any{"sub": "AAAAAAAAAAAAAAAAAAAAAIkzqFVrSaSaFHy782bbtaQ", "oid": "00000000-0000-0000-66f3-3332eca7ea81", "ver": "2.0",
		"roles": []any{"Harness.Operator", "Harness.Reader"}, "wids": []any{"b79fbf4d-3ef9-4689-8143-76b194e85509"},
		"groups": []any{"c6d5a1a8-6d5b-4a53-9cc4-4ee2ad3f4b9d", "0f1f2f3f-6d5b-4a53-9cc4-4ee2ad3f4b9d"}}
	auth0 = map[string]any{"sub": "auth0|6123", "https://example.com/roles": []any{"editor", "admin"},
		"https://example.com/role": "operator", "https://example.com/app": map[string]any{"roles": []any{"viewer", "member"}},
		"permissions": []any{"read:sessions"}}
)

// engineers is the role map of these tests.
var engineers = map[string]auth.Role{"engineers": auth.RoleOperator, "/engineers": auth.RoleOperator, "/engineers/leads": auth.RoleAdmin,
	"Harness.Operator": auth.RoleOperator, "Harness.Reader": auth.RoleMember, "admin": auth.RoleMember, "cn=ops": auth.RoleOwner,
	"c6d5a1a8-6d5b-4a53-9cc4-4ee2ad3f4b9d": auth.RoleAdmin, "agents": auth.RoleAgent}

type roleCase struct {
	name, claim string
	claims      map[string]any
	roles       map[string]auth.Role
	// want is the role everywhere except on the extension routes, extension the role there; "" is refused.
	want, extension auth.Role
}

func roleCases() []roleCase {
	of := func(value any) map[string]any { return map[string]any{"sub": "ann", "role": value} }
	list := func(values ...any) map[string]any { return of(values) }
	return []roleCase{
		{"text", "", of("operator"), nil, auth.RoleOperator, ""},
		{"list of one", "", list("admin"), nil, auth.RoleAdmin, auth.RoleAdmin},
		{"list, weakest first", "", list("ci", "viewer", "operator", "admin", "owner", "system"), nil, auth.RoleSystem, auth.RoleSystem},
		{"list, strongest first", "", list("owner", "admin", "member"), nil, auth.RoleOwner, auth.RoleOwner},
		{"a viewer is above ci", "", list("viewer", "ci"), nil, auth.RoleMember, ""},
		{"operator above viewer", "", list("operator", "viewer"), nil, auth.RoleOperator, ""},
		{"unknown ones are passed over", "", list("Admin", "root", " operator ", "admin,owner"), nil, auth.RoleOperator, ""},
		{"what is no text is passed over", "", list(5, nil, true, []any{"owner"}, map[string]any{"owner": 1}, "member"), nil, auth.RoleMember, auth.RoleMember},
		{"agents' role is none", "", list("agent"), nil, "", ""},
		{"empty list", "", list(), nil, "", ""},
		{"object", "", of(map[string]any{"admin": "admin", "roles": []any{"admin"}}), nil, "", ""},
		{"null", "", of(nil), nil, "", ""},

		{"Keycloak's realm", "realm_access.roles", keycloak, nil, auth.RoleOperator, ""},
		{"Keycloak's client", "resource_access.harness.roles", keycloak, nil, auth.RoleAdmin, auth.RoleAdmin},
		{"a client with dots", "resource_access.harness.work.com.roles", keycloak, nil, auth.RoleMember, auth.RoleMember},
		{"another client", "resource_access.other.roles", keycloak, nil, "", ""},
		{"Keycloak's client, translated", "resource_access.harness.roles", keycloak, engineers, auth.RoleOperator, auth.RoleMember},
		{"Keycloak's groups", "groups", keycloak, engineers, auth.RoleAdmin, auth.RoleAdmin},
		{"Keycloak's groups, not translated", "groups", keycloak, nil, "", ""},
		{"a path that ends early", "realm_access", keycloak, nil, "", ""},
		{"a path that goes on", "realm_access.roles.operator", keycloak, nil, "", ""},
		{"a path through a text", "sub.roles", keycloak, nil, "", ""},

		{"Entra's app roles", "roles", entra, engineers, auth.RoleOperator, auth.RoleMember},
		{"Entra's app roles, not translated", "roles", entra, nil, "", ""},
		{"Entra's groups", "groups", entra, engineers, auth.RoleAdmin, auth.RoleAdmin},

		{"Auth0's list", "https://example.com/roles", auth0, nil, auth.RoleAdmin, auth.RoleAdmin},
		{"Auth0's text", "https://example.com/role", auth0, nil, auth.RoleOperator, ""},
		{"below a name that is a URL", "https://example.com/app.roles", auth0, nil, auth.RoleMember, auth.RoleMember},
		{"another name", "https://example.org/roles", auth0, nil, "", ""},

		{"the whole name goes first", "a.b", map[string]any{"a.b": "viewer", "a": map[string]any{"b": "owner"}}, nil, auth.RoleMember, ""},
		{"also when it has no role", "a.b", map[string]any{"a.b": nil, "a": map[string]any{"b": "owner"}}, nil, "", ""},
		{"translated away", "", of("admin"), engineers, auth.RoleMember, auth.RoleMember},
		{"known beside translated", "", list("cn=ops", "viewer"), engineers, auth.RoleOwner, auth.RoleOwner},
		{"translated to none", "", of("agents"), engineers, "", ""},
		{"case of names", "", of("Engineers"), engineers, "", ""},
	}
}

// A role claim may be a text, a list or nested, and its names may be translated. Every way to authenticate reads it the
// same way.
func TestRoleClaims(t *testing.T) {
	t.Parallel()
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	for _, c := range roleCases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rules := auth.NewRBAC(auth.RBACOptions{Mode: auth.RBACJWT, JWTSecret: jwtSecret, RoleClaim: c.claim, RoleMap: c.roles})
			shown := signed(t, jwt.SigningMethodHS256, []byte(jwtSecret), c.claims, nil)
			bearer := []string{"Authorization", "Bearer " + shown}
			for target, headers := range map[string][]string{"/api/sessions": bearer, "/v1/sessions": bearer, "/mcp/x": bearer,
				"/rpc":                              append([]string{"Sec-WebSocket-Protocol", "bearer." + shown}, upgrade...),
				"/api/stream?access_token=" + shown: upgrade} {
				var got auth.Principal
				handler := auth.Guard(auth.Options{BoundHost: "127.0.0.1", Token: token, Signed: auth.NewSigned(rules)})(
					http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got, _ = auth.PrincipalFrom(r.Context()) }))
				r := httptest.NewRequest(http.MethodGet, target, nil)
				r.Host, r.RemoteAddr = "127.0.0.1", "10.0.0.9:5"
				for i := 0; i < len(headers); i += 2 {
					r.Header.Set(headers[i], headers[i+1])
				}
				w := httptest.NewRecorder()
				handler.ServeHTTP(w, r)
				refused := w.Code == http.StatusForbidden && strings.Contains(w.Body.String(), `"code":"invalid_role_claim"`) &&
					strings.Contains(w.Body.String(), "HARNESS_ROLE_MAP")
				if got.Role != c.want || refused != (c.want == "") {
					t.Errorf("%s: %+v, %d %s", target, got, w.Code, w.Body)
				}
			}
			r := httptest.NewRequest(http.MethodGet, "/api/agents/extensions", nil)
			r.Header.Set("Authorization", "Bearer "+shown)
			principal, refusal := rules.Authorize(r, auth.RoleMember, auth.RoleAdmin, auth.RoleOwner, auth.RoleSystem)
			if principal.Role != c.extension || (refusal != nil) != (c.extension == "") ||
				refusal != nil && (refusal.Code != "invalid_role_claim" || refusal.HTTPStatus != http.StatusForbidden) {
				t.Errorf("extension routes: %+v, %+v", principal, refusal)
			}
		})
	}
}
