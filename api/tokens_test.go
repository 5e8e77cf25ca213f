package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"harness/api"
	"harness/internal/platform/auth"
	"harness/internal/platform/auth/tokens"
)

// echoedTokens returns its arguments.
type echoedTokens struct{}

func (echoedTokens) List(context.Context) ([]tokens.Token, error) {
	return []tokens.Token{{ID: "one", Name: "first", Role: tokens.Viewer, CreatedAt: 1, ExpiresAt: 2}}, nil
}

func (echoedTokens) Create(_ context.Context, wanted tokens.Token) (tokens.Token, string, error) {
	if wanted.Name == "taken" {
		return tokens.Token{}, "", &tokens.NameTakenError{Name: wanted.Name}
	}
	return wanted, "hrn_secret", nil
}

func (echoedTokens) ChangeRole(_ context.Context, id string, role tokens.Role) (tokens.Token, error) {
	switch id {
	case "none":
		return tokens.Token{}, tokens.ErrNotFound
	case "revoked":
		return tokens.Token{}, tokens.ErrRevoked
	}
	return tokens.Token{ID: id, Name: "n", Role: role}, nil
}

func (echoedTokens) Revoke(_ context.Context, id string) (tokens.Token, error) {
	if id == "none" {
		return tokens.Token{}, tokens.ErrNotFound
	}
	return tokens.Token{ID: id, Name: "n", Role: tokens.Viewer, RevokedAt: 5}, nil
}

// Every response about tokens, success or failure, matches the documentation.
func TestTokenRoutes(t *testing.T) {
	t.Parallel()
	document, b := readDocument(t), setup(t)
	for _, c := range []struct {
		method, target, body string
		status               int
		says                 string
	}{
		{http.MethodGet, "/api/tokens", "", 200, `"state":"expired"`},
		{http.MethodPost, "/api/tokens", `{"name":"ci","role":"ci"}`, 200, `"secret":"hrn_secret"`},
		{http.MethodPost, "/api/tokens", `{"name":"ci","role":"ci","expiresAt":"2027-01-01T00:00:00+01:00"}`, 200,
			`"expiresAt":"2026-12-31T23:00:00.000Z"`},
		{http.MethodPost, "/api/tokens", `{"name":"ci","role":"ci","expiresAt":"tomorrow"}`, 400, `Use a time as`},
		{http.MethodPost, "/api/tokens", `{"name":"ci","role":"owner"}`, 400, `"role"`},
		{http.MethodPost, "/api/tokens", `{"role":"ci"}`, 400, `"name"`},
		{http.MethodPost, "/api/tokens", `{"name":"taken","role":"ci"}`, 409, `name_taken`},
		{http.MethodPatch, "/api/tokens/one", `{"role":"operator"}`, 200, `"role":"operator"`},
		{http.MethodPatch, "/api/tokens/one", `{}`, 400, `"role"`},
		{http.MethodPatch, "/api/tokens/none", `{"role":"operator"}`, 404, `"tokenId":"none"`},
		{http.MethodPatch, "/api/tokens/revoked", `{"role":"operator"}`, 409, `token_revoked`},
		{http.MethodDelete, "/api/tokens/one", "", 200, `"state":"revoked"`},
		{http.MethodDelete, "/api/tokens/none", "", 404, `"not_found"`},
	} {
		kind := ""
		if c.body != "" {
			kind = "application/json"
		}
		got := b.send(c.method, c.target, kind, c.body)
		if got.Code != c.status || !strings.Contains(got.Body.String(), c.says) {
			t.Errorf("%s %s %s: %d %s", c.method, c.target, c.body, got.Code, got.Body)
		}
		if err := document.checkReply(document.find(c.method, c.target), got.Code, got.Body.String()); err != nil {
			t.Errorf("%s %s: %v", c.method, c.target, err)
		}
	}
}

// A role may do what the table of routes allows, on every operation. An unknown role may do nothing.
func TestRolesOfEveryOperation(t *testing.T) {
	t.Parallel()
	role := auth.Role("")
	b := setup(t, func(o *parts) {
		o.Guard = func(next http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				principal := auth.Principal{Actor: "token:t", Role: role, TokenID: "t"}
				next.ServeHTTP(w, r.WithContext(auth.WithPrincipal(r.Context(), principal)))
			})
		}
	})
	words := map[auth.Role]string{auth.RoleMember: "viewer", auth.RoleCI: "ci", auth.RoleOperator: "operator",
		auth.RoleAdmin: "admin", auth.RoleOwner: "owner", "": "", "root": "root"}
	for _, operation := range api.Operations() {
		if strings.HasPrefix(operation.Path, "/api/agents/") {
			continue // the bench has no extensions
		}
		path := strings.NewReplacer("{sessionId}", knownID, "{", "", "}", "").Replace(operation.Path)
		for has, word := range words {
			role = has
			got := b.send(operation.Method, path, "application/json", `{`)
			refused := got.Code == http.StatusForbidden && strings.Contains(got.Body.String(), `"insufficient_role"`)
			allowed := word == "owner" || strings.Contains(","+strings.Join(operation.Roles, ",")+",", ","+word+",") &&
				word != ""
			if refused == allowed {
				t.Errorf("%s %s by %q: refused is %t", operation.Method, operation.Path, word, refused)
			}
		}
	}
	// This checks the promise itself, independent of the table.
	for _, c := range []struct {
		role         auth.Role
		method, path string
		allowed      bool
	}{
		{auth.RoleCI, http.MethodPost, "/api/sessions/" + knownID + "/transcript/upsert", true},
		{auth.RoleCI, http.MethodPost, "/api/sessions/" + knownID + "/transcript/upserts", true},
		{auth.RoleCI, http.MethodGet, "/api/sessions/" + knownID, false},
		{auth.RoleCI, http.MethodGet, "/api/sessions", false},
		{auth.RoleCI, http.MethodGet, "/api/stream", false},
		{auth.RoleCI, http.MethodPost, "/rpc", false},
		{auth.RoleCI, http.MethodGet, "/v1/sessions", false},
		{auth.RoleCI, http.MethodPost, "/api/sessions/" + knownID + "/messages", false},
		{auth.RoleMember, http.MethodGet, "/api/sessions", true},
		{auth.RoleMember, http.MethodPost, "/api/sessions", false},
		{auth.RoleMember, http.MethodPost, "/api/approvals/a/decision", false},
		{auth.RoleMember, http.MethodPost, "/api/sessions/" + knownID + "/transcript/upsert", false},
		{auth.RoleOperator, http.MethodPost, "/api/approvals/a/decision", true},
		{auth.RoleOperator, http.MethodPost, "/api/config/value", false},
		{auth.RoleOperator, http.MethodGet, "/api/tokens", false},
		{auth.RoleAdmin, http.MethodGet, "/api/tokens", true},
	} {
		role = c.role
		got := b.sendRequest(httptest.NewRequest(c.method, c.path, strings.NewReader(`{`)))
		if refused := strings.Contains(got.Body.String(), "insufficient_role"); refused == c.allowed ||
			refused != (got.Code == 403) {
			t.Errorf("%s %s by %s: %d %s", c.method, c.path, c.role, got.Code, got.Body)
		}
	}
}
