package api_test

import (
	"net/http"
	"strings"
	"testing"

	v1 "harness/api/v1"
	"harness/internal/platform/auth"
)

// fakeTasks serves every route of the task API with one handler.
type fakeTasks struct{ http.HandlerFunc }

func (f fakeTasks) Handler(v1.Route) http.Handler { return f.HandlerFunc }

func (f fakeTasks) Refuse(w http.ResponseWriter, _ *http.Request, _ error) {
	w.WriteHeader(http.StatusTeapot)
}

// Readers of sessions can read tasks and decide nothing. Operators can do both. A runtime's own requests, and
// transcript writers, have no access to tasks. In particular, they cannot approve calls.
func TestTaskRoles(t *testing.T) {
	t.Parallel()
	reached := false
	b := setup(t, func(o *parts) {
		o.Tasks = fakeTasks{func(w http.ResponseWriter, _ *http.Request) {
			reached = true
			w.WriteHeader(http.StatusNoContent)
		}}
	})
	routes := v1.Routes()
	if len(routes) < 10 {
		t.Fatalf("there are %d routes", len(routes))
	}
	for _, route := range routes {
		for role, may := range map[auth.Role]bool{auth.RoleAgent: false, auth.RoleCI: false,
			auth.RoleMember: route.Method == http.MethodGet && !route.Operator, auth.RoleOperator: true, auth.RoleOwner: true} {
			reached = false
			r := request(route.Method, strings.ReplaceAll(route.Path, ":", ""), "", "")
			code := b.sendRequest(r.WithContext(auth.WithPrincipal(r.Context(),
				auth.Principal{Role: role, Session: knownID}))).Code
			want := http.StatusForbidden
			if may {
				want = http.StatusNoContent
			}
			if code != want || reached != may {
				t.Errorf("%s %s of the role %s got %d", route.Method, route.Path, role, code)
			}
		}
	}
}
