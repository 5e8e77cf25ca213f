package api_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "harness/api/v1"
	"harness/auth"
)

// What a runtime runs has no say about tasks: above all it approves nothing.
func TestAgentsHaveNoTasks(t *testing.T) {
	t.Parallel()
	reached := 0
	b := setup(t, func(o *parts) {
		o.Tasks = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			reached++
			w.WriteHeader(http.StatusNoContent)
		})
	})
	routes := v1.Routes()
	if len(routes) < 10 {
		t.Fatalf("there are %d routes", len(routes))
	}
	for _, route := range routes {
		asked := func(role auth.Role) int {
			r := request(route.Method, strings.ReplaceAll(route.Path, ":", ""), "", "")
			return b.sendRequest(r.WithContext(auth.WithPrincipal(r.Context(), auth.Principal{Role: role, Session: knownID}))).Code
		}
		if code := asked(auth.RoleAgent); code != http.StatusForbidden || reached != 0 {
			t.Errorf("an agent's %s %s is answered %d", route.Method, route.Path, code)
		}
		if code := asked(auth.RoleOperator); code != http.StatusNoContent || reached != 1 {
			t.Errorf("%s %s is answered %d", route.Method, route.Path, code)
		}
		reached = 0
	}
}
