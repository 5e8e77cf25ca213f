package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"harness/api/rest"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
)

// roleError refuses what the role of a named token is not enough for.
type roleError struct {
	has   auth.Role
	needs []auth.Role
}

func (e *roleError) Error() string {
	return fmt.Sprintf("a token of the role %s may not do this; one of %s may", e.has.Word(),
		strings.Join(roleNames(e.needs), ", "))
}

// checkRole refuses a request whose principal has none of the roles of the route. Agents have rules of their own, and
// without a guard there are no principals.
func checkRole(r *http.Request, rt *rest.Route) error {
	principal, guarded := auth.PrincipalFrom(r.Context())
	if !guarded || principal.Role == auth.RoleAgent || rt.OwnRoles && principal.Signed || mayUse(principal.Role, rt) {
		return nil
	}
	err := &roleError{principal.Role, rolesOf(rt)}
	telemetry.Log(r.Context()).Warn().Str("actor", principal.Actor).Str("route", rt.Method+" "+rt.Path).Err(err).
		Msg("refused a request for its role")
	return err
}

// mayUse tells whether a person's role is enough for a route.
func mayUse(role auth.Role, rt *rest.Route) bool {
	return role == auth.RoleOwner || role == auth.RoleSystem || slices.Contains(rolesOf(rt), role)
}

// rolesOf are the roles a route is for, below the owner. What knows no rule is an admin's.
func rolesOf(rt *rest.Route) []auth.Role {
	access := rt.Access
	if access == rest.AccessByMethod {
		access = rest.AccessOperator
		if rt.Method == http.MethodGet {
			access = rest.AccessViewer
		}
	}
	switch access {
	case rest.AccessAnybody:
		return []auth.Role{auth.RoleCI, auth.RoleMember, auth.RoleOperator, auth.RoleAdmin}
	case rest.AccessTranscript:
		return []auth.Role{auth.RoleCI, auth.RoleOperator, auth.RoleAdmin}
	case rest.AccessViewer:
		return []auth.Role{auth.RoleMember, auth.RoleOperator, auth.RoleAdmin}
	case rest.AccessOperator:
		return []auth.Role{auth.RoleOperator, auth.RoleAdmin}
	}
	return []auth.Role{auth.RoleAdmin}
}

// tokenRoles are those as tokens are made of them.
func tokenRoles(rt *rest.Route) []string { return roleNames(rolesOf(rt)) }

func roleNames(roles []auth.Role) []string {
	words := make([]string, len(roles))
	for i, role := range roles {
		words[i] = role.Word()
	}
	return words
}
