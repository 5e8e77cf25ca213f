// Package auth authenticates callers. It owns the Host and Origin rules, the access token, the refusal to listen openly
// without one, and the principal of a request.
//
// It must never know a route except the two with different rules (health and stream), or how a router or a websocket
// library works.
package auth

import (
	"context"
	"slices"
)

// Role is a caller's set of rights; the names are codex-manager's.
type Role string

// The roles, weakest first.
const (
	RoleMember Role = "member"
	RoleAdmin  Role = "admin"
	RoleOwner  Role = "owner"
	RoleSystem Role = "system"
)

// RoleAgent is the role of a runtime's processes: no token grants or removes it. Its rights depend on its session's
// job.
const RoleAgent Role = "agent"

// The roles that only named tokens grant. The extension routes' own rules (RBAC) do not include them.
const (
	// RoleOperator works with sessions and changes nothing else. RoleMember, the next lower role, only reads.
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

// Word returns the role's name in named tokens, the journal and the audit log.
func (r Role) Word() string {
	if r == RoleMember {
		return "viewer"
	}
	return string(r)
}

// Principal is the caller of a request; journal and audit rows record its Actor.
type Principal struct {
	Actor string
	Role  Role
	// Session is an agent's session, "" when unknown. Only agents have one.
	Session string
	// TokenID is the id of the request's named token, "" for none.
	TokenID string
	// Projects limits the caller to some projects, nil for no limit.
	Projects *Projects
	// Signed is true for a signed token (JWT).
	Signed bool
	// Provider is the OpenID Connect provider that vouches for the caller, "" for none. TokenID is then the login's, if
	// there is one.
	Provider string
	// Name is the display name, "" if only Actor is known. It is not verified.
	Name string
}

// ownerPrincipal returns the principal of HARNESS_AUTH_TOKEN or the owner's token.
func ownerPrincipal() Principal { return Principal{Actor: "token", Role: RoleOwner} }

// AgentPrincipal returns the principal of a runtime's process, with its session if known.
func AgentPrincipal(session string) Principal {
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

// PrincipalFrom returns the principal; false outside a guarded request.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

// Named reports whether the principal is a person or program with a token, unlike callers without one.
func (p Principal) Named() bool {
	return p.Role == RoleOwner || p.Role == RoleSystem || p.TokenID != "" || p.Signed || p.Provider != ""
}

// Named are the named tokens of a server.
type Named interface {
	// Find returns the principal of a secret, and a context that ends when its token becomes invalid: revoked, expired,
	// or assigned another role. false: no valid token has the secret.
	Find(secret string) (Principal, context.Context, bool)
	// Any reports whether such a token exists or ever existed, so that removing the last one does not open the server.
	Any() bool
}

// NamedBy combines stores of several kinds of secrets.
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

// Bearers authenticates workloads by tokens of outside issuers.
type Bearers interface {
	// Find returns the principal of a token of such an issuer, and a context that ends with the token. Principal and
	// refusal are both nil for a token of any other issuer.
	Find(ctx context.Context, token string) (*Principal, context.Context, *Refusal)
}

type accessKey struct{}

// WithAccess adds to ctx a context that ends when access is withdrawn.
func WithAccess(ctx, access context.Context) context.Context {
	return context.WithValue(ctx, accessKey{}, access)
}

// AccessFrom returns the context that ends when the access of a request's principal is withdrawn. For most principals
// that never happens. Connections that outlive the request (a socket, a stream of events) must end with it.
func AccessFrom(ctx context.Context) context.Context {
	if access, ok := ctx.Value(accessKey{}).(context.Context); ok {
		return access
	}
	return context.Background()
}
