package login

import (
	"net/http"
	"strings"
	"testing"

	"harness/tests/oidctest"
	"harness/tests/programtest"
)

// Roles come from claims in the format of Keycloak, Entra and Auth0. A user without a role is refused with the
// remedy, or gets the default role. A server supports several providers.
func TestRolesOfLogins(t *testing.T) {
	t.Parallel()
	address, to := front(t)
	names := []string{"keycloak", "entra", "auth0", "open"}
	config := oidctest.Config{Claims: []string{"resource_access", "roles", "https://example.com/roles"}, Accounts: map[string]map[string]any{
		"ann": {"name": "Ann Lee", "email": "ann@example.com",
			"resource_access": map[string]any{"harness": map[string]any{"roles": []string{"engineers", "uma_authorization"}}},
			"roles":           []string{"Harness.Reader"}, "https://example.com/roles": []string{"editor", "admin"}},
		"bob": {"preferred_username": "bob.b", "roles": []string{"Harness.Writer"}},
	}}
	for _, name := range names {
		config.Clients = append(config.Clients, client("client-"+name, address, name))
	}
	provider := oidctest.Start(t, config)
	entry := func(name, claim string, more map[string]any) map[string]any {
		one := map[string]any{"name": name, "issuer": provider.URL, "clientId": "client-" + name, "clientSecretFile": "secret", "roleClaim": claim}
		for key, value := range more {
			one[key] = value
		}
		return one
	}
	server := start(t, providers(t, entry("keycloak", "resource_access.harness.roles", nil), entry("entra", "roles", nil),
		entry("auth0", "https://example.com/roles", nil),
		entry("open", "groups", map[string]any{"defaultRole": "viewer", "projects": []string{"p1"}})))
	to(server)
	for _, c := range []struct{ login, at, role, name, code string }{
		{"ann", "keycloak", "operator", "Ann Lee", ""},
		{"ann", "entra", "viewer", "Ann Lee", ""},
		{"ann", "auth0", "admin", "Ann Lee", ""},
		{"ann", "open", "viewer", "Ann Lee", ""},
		{"bob", "open", "viewer", "bob.b", ""},
		{"bob", "keycloak", "", "", "HARNESS_ROLE_MAP"},
		{"bob", "entra", "", "", "HARNESS_ROLE_MAP"},
	} {
		browser := oidctest.Browser(t)
		status, page := logIn(provider, browser, address, c.at, c.login)
		if c.role == "" {
			if got, _ := me(t, browser, address); status != http.StatusForbidden || !strings.Contains(page, c.code) || got != http.StatusUnauthorized {
				t.Errorf("%s at %s: %d %s, then %d", c.login, c.at, status, page, got)
			}
			continue
		}
		got, who := me(t, browser, address)
		if got != http.StatusOK || who["role"] != c.role || who["name"] != c.name || who["actor"] != "oidc:"+c.at+":"+c.login || who["login"] != true {
			t.Errorf("%s at %s: %d %v after %d %s", c.login, c.at, got, who, status, page)
		}
		if _, limited := who["projects"]; limited != (c.at == "open") {
			t.Errorf("%s at %s is limited to %v", c.login, c.at, who["projects"])
		}
	}
	server.Headers = map[string]string{"Authorization": "Bearer " + ownersToken}
	if _, ways := server.Ask(http.MethodGet, "/api/login/methods", nil); !strings.Contains(ways, `"token":true`) {
		t.Errorf("ways to log in are %s", ways)
	}
	if methods := programtest.Get[struct{ Providers []struct{ Name, URL string } }](server, "/api/login/methods").Providers; len(methods) != 4 ||
		methods[1].Name != "entra" || methods[1].URL != "/api/login/oidc/entra" {
		t.Errorf("methods are %v", methods)
	}
	server.Stop()
}
