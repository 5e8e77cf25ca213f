package rest

import (
	"net/http"
	"slices"

	"harness/internal/platform/auth"
)

// MayUse reports whether a role may use a route.
func MayUse(role auth.Role, rt *Route) bool {
	return role == auth.RoleOwner || role == auth.RoleSystem || slices.Contains(RolesOf(rt), role)
}

// RolesOf returns the roles below owner that may use a route. Without a rule, only an admin may.
func RolesOf(rt *Route) []auth.Role {
	access := rt.Access
	if access == AccessByMethod {
		access = AccessOperator
		if rt.Method == http.MethodGet {
			access = AccessViewer
		}
	}
	switch access {
	case AccessAnybody:
		return []auth.Role{auth.RoleCI, auth.RoleMember, auth.RoleOperator, auth.RoleAdmin}
	case AccessTranscript:
		return []auth.Role{auth.RoleCI, auth.RoleOperator, auth.RoleAdmin}
	case AccessViewer:
		return []auth.Role{auth.RoleMember, auth.RoleOperator, auth.RoleAdmin}
	case AccessOperator:
		return []auth.Role{auth.RoleOperator, auth.RoleAdmin}
	}
	return []auth.Role{auth.RoleAdmin}
}
