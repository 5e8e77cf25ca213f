// Package auth owns who may talk to the server: the Host and Origin rules,
// the access token, the refusal to listen openly without one, and the
// principal of a request.
//
// It must never know a route beyond the two whose rule differs (health and
// stream), nor how a router or a websocket library works.
package auth

import (
	"context"
	"slices"
)

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

// The roles only named tokens give. The two extension routes' own rules (RBAC) know neither.
const (
	// RoleOperator works with sessions and changes nothing else; RoleMember, below it, reads.
	RoleOperator Role = "operator"
	// RoleCI writes transcripts and does nothing else.
	RoleCI Role = "ci"
)

// Valid reports whether r is one of the four roles (case matters).
func (r Role) Valid() bool {
	switch r {
	case RoleMember, RoleAdmin, RoleOwner, RoleSystem:
		return true
	}
	return false
}

// Word is the role as named tokens, the journal and the audit log call it.
func (r Role) Word() string {
	if r == RoleMember {
		return "viewer"
	}
	return string(r)
}

// Principal is on whose behalf a request is handled; its Actor is written
// into journal and audit rows.
type Principal struct {
	Actor string
	Role  Role
	// Session is the one an agent works for, "" when that is unknown. Only agents have one.
	Session string
	// TokenID is that of the named token that was shown, "" for none.
	TokenID string
	// Projects limits it to what belongs to some projects, nil for no limit.
	Projects *Projects
	// Signed says that a signed token (JWT) was shown.
	Signed bool
	// Provider is the OpenID Connect provider that vouches for it, "" for none. TokenID is then that of the login, if there is one.
	Provider string
	// Name is what people call it, "" where Actor is all that is known. It proves nothing.
	Name string
}

// ownerPrincipal is who shows HARNESS_AUTH_TOKEN or the owner's token.
func ownerPrincipal() Principal { return Principal{Actor: "token", Role: RoleOwner} }

// agentPrincipal is what a runtime runs, for a session when that is known.
func agentPrincipal(session string) Principal {
	principal := Principal{Actor: "agent", Role: RoleAgent, Session: session}
	if session != "" {
		principal.Actor += ":" + session
	}
	return principal
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

// Named separates a person or program with a token from the principals of callers without one.
func (p Principal) Named() bool {
	return p.Role == RoleOwner || p.Role == RoleSystem || p.TokenID != "" || p.Signed || p.Provider != ""
}

// Named are the named tokens of a server.
type Named interface {
	// Find is the principal of who shows a secret, and a context that ends when that does not count any more: the token
	// was revoked, has expired, or has another role. false: no token that counts has the secret.
	Find(secret string) (Principal, context.Context, bool)
	// Any reports whether there is such a token or ever was one: the last one's end opens no door.
	Any() bool
}

// NamedBy joins what keeps secrets of several kinds.
func NamedBy(several ...Named) Named { return severalNamed(several) }

type severalNamed []Named

func (s severalNamed) Find(secret string) (Principal, context.Context, bool) {
	for _, one := range s {
		if principal, access, found := one.Find(secret); found {
			return principal, access, true
		}
	}
	return Principal{}, nil, false
}

func (s severalNamed) Any() bool {
	return slices.ContainsFunc(s, func(one Named) bool { return one.Any() })
}

// Bearers are the tokens of issuers outside of this server, by which workloads come in.
type Bearers interface {
	// Find is who shows a token of such an issuer, and a context that ends with the token. Principal and refusal are both
	// nil for a token of any other issuer.
	Find(ctx context.Context, token string) (*Principal, context.Context, *Refusal)
}

type accessKey struct{}

// WithAccess puts a context into ctx that ends when access is withdrawn.
func WithAccess(ctx, access context.Context) context.Context {
	return context.WithValue(ctx, accessKey{}, access)
}

// AccessFrom gives the context that ends when the access of a request's principal is withdrawn, which for most is never.
// What outlives the request (a socket, a stream of events) has to end with it.
func AccessFrom(ctx context.Context) context.Context {
	if access, ok := ctx.Value(accessKey{}).(context.Context); ok {
		return access
	}
	return context.Background()
}
