package api

import (
	"fmt"
	"net/http"
	"strings"

	"harness/api/rest"
	"harness/internal/platform/auth"
	"harness/internal/platform/telemetry"
)

// roleError refuses a request because the role of its named token is insufficient.
type roleError struct {
	has   auth.Role
	needs []auth.Role
}

func (e *roleError) Error() string {
	return fmt.Sprintf("a token with the role %s may not do this; one with %s may", e.has.Word(),
		strings.Join(roleNames(e.needs), ", "))
}

// checkRole refuses a request whose principal has none of the route's roles. Agents have separate rules. Without a
// guard there are no principals.
func checkRole(r *http.Request, rt *rest.Route) error {
	principal, guarded := auth.PrincipalFrom(r.Context())
	if !guarded || principal.Role == auth.RoleAgent || rt.OwnRoles && principal.Signed || rest.MayUse(principal.Role, rt) {
		return nil
	}
	err := &roleError{principal.Role, rest.RolesOf(rt)}
	telemetry.Log(r.Context()).Warn().Str("actor", principal.Actor).Str("route", rt.Method+" "+rt.Path).Err(err).
		Msg("refused a request for its role")
	return err
}

// tokenRoles returns the roles of a route under the names that tokens use.
func tokenRoles(rt *rest.Route) []string { return roleNames(rest.RolesOf(rt)) }

func roleNames(roles []auth.Role) []string {
	words := make([]string, len(roles))
	for i, role := range roles {
		words[i] = role.Word()
	}
	return words
}
