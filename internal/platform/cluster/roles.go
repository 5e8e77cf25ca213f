package cluster

import "strings"

// The roles of a node: RoleAPI answers clients, RoleRunner runs agents and owns their sessions.
const (
	RoleAPI    = "api"
	RoleRunner = "runner"
)

// rolesOf returns the stored form of roles; no roles means both.
func rolesOf(roles []string) string {
	if len(roles) == 0 {
		roles = []string{RoleAPI, RoleRunner}
	}
	return strings.Join(roles, ",")
}
