package auth_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"harness/internal/platform/auth"
)

// workloads accepts one token, and refuses another one of the same issuer.
type workloads struct{ access context.Context }

func (w workloads) Find(_ context.Context, token string) (*auth.Principal, context.Context, *auth.Refusal) {
	switch token {
	case "a.good.token":
		return &auth.Principal{Actor: "oidc:actions:1", Role: auth.RoleCI, Provider: "actions"}, w.access, nil
	case "a.bad.token":
		return nil, nil, &auth.Refusal{HTTPStatus: http.StatusUnauthorized, Status: "unauthorized", Code: "invalid_bearer_token"}
	}
	return nil, nil, nil
}

// Logins authenticate like named tokens, workloads by their issuer's tokens. A refused token gives no other identity,
// even where no token is needed, and on the extension routes. Login routes are open, in one spelling only.
func TestGuardKnowsLoginsAndWorkloads(t *testing.T) {
	t.Parallel()
	access, end := context.WithCancel(t.Context())
	defer end()
	for name, c := range map[string]struct {
		owner, method, target, token string
		actor                        string // "" is 401
	}{
		"a login":                           {token, "GET", "/api/sessions", "hrs_good", "token:ann"},
		"a login that ended":                {token, "GET", "/api/sessions", "hrs_ended", ""},
		"one that ended, without an owner":  {"", "GET", "/api/sessions", "hrs_ended", ""},
		"a workload":                        {token, "GET", "/api/sessions", "a.good.token", "oidc:actions:1"},
		"a workload without an owner":       {"", "GET", "/api/sessions", "a.good.token", "oidc:actions:1"},
		"a refused workload":                {token, "GET", "/api/sessions", "a.bad.token", ""},
		"a refused one without an owner":    {"", "GET", "/api/sessions", "a.bad.token", ""},
		"a refused one at extensions":       {"", "GET", "/api/agents/extensions", "a.bad.token", ""},
		"another issuer's":                  {token, "GET", "/api/sessions", "a.b.c", ""},
		"how to log in":                     {token, "GET", "/api/login/methods", "", "anonymous"},
		"a login begins":                    {token, "GET", "/api/login/oidc/corp-1", "", "anonymous"},
		"a login comes back":                {token, "GET", "/api/login/oidc/corp/callback?state=a", "", "anonymous"},
		"a device asks":                     {token, "POST", "/api/login/oidc/corp/device/token", "", "anonymous"},
		"a provider logs out":               {token, "POST", "/api/login/oidc/corp/backchannel-logout", "", "anonymous"},
		"nothing else below":                {token, "GET", "/api/login/oidc/corp/sessions", "", ""},
		"no way up":                         {token, "GET", "/api/login/oidc/../../sessions", "", ""},
		"no way up, encoded":                {token, "GET", "/api/login/oidc/%2e%2e/%2e%2e/sessions", "", ""},
		"no way up behind a slash, encoded": {token, "GET", "/api/login/oidc/corp%2f..%2f..%2f..%2fsessions", "", ""},
		"no slash at the end":               {token, "GET", "/api/login/oidc/corp/", "", ""},
		"no provider":                       {token, "GET", "/api/login/oidc/", "", ""},
	} {
		var actor string
		var ends context.Context
		guarded := auth.Guard(auth.Options{BoundHost: "127.0.0.1", Token: c.owner, Named: auth.NamedBy(named{secret: "hrn_good", access: access},
			named{secret: "hrs_good", access: access}), Bearers: workloads{access}})(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			principal, _ := auth.PrincipalFrom(r.Context())
			actor, ends = principal.Actor, auth.AccessFrom(r.Context())
		}))
		r := httptest.NewRequest(c.method, "http://127.0.0.1"+c.target, nil)
		r.RemoteAddr = "127.0.0.1:5"
		if c.token != "" {
			r.Header.Set("Authorization", "Bearer "+c.token)
		}
		w := httptest.NewRecorder()
		guarded.ServeHTTP(w, r)
		if actor != c.actor || (c.actor == "") != (w.Code == http.StatusUnauthorized) {
			t.Errorf("%s: %q, answered %d %s; want %q", name, actor, w.Code, w.Body, c.actor)
		}
		if c.token != "" && c.actor != "" && ends != access {
			t.Errorf("%s: what is opened by it does not end with it", name)
		}
	}
}
