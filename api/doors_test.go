package api_test

import (
	"net/http"
	"testing"

	"harness/internal/platform/auth"
)

// FE-24: a door gets the upgrades of its path alone: the root stays the console's, and no agent enters.
func TestADoorTakesUpgradesOnly(t *testing.T) {
	t.Parallel()
	entered := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	b := setup(t, func(p *parts) { p.Doors = map[string]http.Handler{"/": entered} })
	for _, one := range []struct {
		method, path, upgrade string
		role                  auth.Role
		status                int
	}{
		{http.MethodGet, "/", "websocket", auth.RoleOperator, http.StatusTeapot},
		{http.MethodGet, "/", "websocket", auth.RoleMember, http.StatusTeapot},
		{http.MethodGet, "/", "", auth.RoleOperator, http.StatusNotFound},
		{http.MethodPost, "/", "websocket", auth.RoleOperator, http.StatusNotFound},
		{http.MethodGet, "/other", "websocket", auth.RoleOperator, http.StatusNotFound},
		{http.MethodGet, "/", "websocket", auth.RoleAgent, http.StatusForbidden},
		{http.MethodGet, "/", "websocket", auth.RoleCI, http.StatusForbidden},
	} {
		r := request(one.method, one.path, "", "")
		r.Header.Set("Upgrade", one.upgrade)
		if one.upgrade == "" {
			r.Header.Del("Upgrade")
		}
		r = r.WithContext(auth.WithPrincipal(r.Context(), auth.Principal{Actor: "a", Role: one.role}))
		if got := b.sendRequest(r); got.Code != one.status {
			t.Errorf("%s %s with upgrade %q as %s is %d, not %d", one.method, one.path, one.upgrade, one.role, got.Code, one.status)
		}
	}
	r := request(http.MethodGet, "/", "", "")
	r.Header.Set("Upgrade", "websocket")
	if got := setup(t).sendRequest(r); got.Code != http.StatusNotFound {
		t.Errorf("without a door the upgrade is %d", got.Code)
	}
}
