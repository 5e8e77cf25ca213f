// Package auth owns who may talk to the server: the Host and Origin rules,
// the access token, the refusal to listen openly without one, and the
// principal of a request.
//
// It must never know a route beyond the two whose rule differs (health and
// stream), nor how a router or a websocket library works.
package auth

import "context"

// Role is what a caller may do; the words are codex-manager's.
type Role string

// The roles, weakest first.
const (
	RoleMember Role = "member"
	RoleAdmin  Role = "admin"
	RoleOwner  Role = "owner"
	RoleSystem Role = "system"
)

// RoleAgent is that of whatever a runtime runs: no token gives it, and none takes it away. What it may do depends on
// its session's job.
const RoleAgent Role = "agent"

// Valid tells whether r is one of the four roles (case matters).
func (r Role) Valid() bool {
	switch r {
	case RoleMember, RoleAdmin, RoleOwner, RoleSystem:
		return true
	}
	return false
}

// Principal is on whose behalf a request is handled; its Actor is written
// into journal and audit rows.
type Principal struct {
	Actor string
	Role  Role
	// Session is the one an agent works for, "" when that is not known. Nobody else has one.
	Session string
}

type principalKey struct{}

// WithPrincipal puts the principal into the context.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom gives the principal; false outside of a guarded request.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// Named tells a principal that is somebody, from those that everybody without a token is.
func (p Principal) Named() bool { return p.Role == RoleOwner || p.Role == RoleSystem }
