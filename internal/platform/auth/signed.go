package auth

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// extensionsPath is the prefix of the two routes that check signed tokens themselves, with codex-manager's messages
// (RBAC).
const extensionsPath = "/api/agents/extensions"

// projectsClaim limits the holder of a signed token to the listed projects.
const projectsClaim = "projects"

// Signed authenticates an issuer's signed tokens (JWT), wherever a token is accepted. It is safe for concurrent use.
type Signed struct {
	rbac  *RBAC
	lives Lives
}

// NewSigned makes a Signed from the rules of the extension routes; nil unless their mode is jwt.
func NewSigned(rules *RBAC) *Signed {
	if rules.opts.Mode != RBACJWT {
		return nil
	}
	return &Signed{rbac: rules}
}

// find returns the principal of a signed token, with a context that ends with the token. Both are nil without such a
// token.
func (s *Signed) find(r *http.Request, shown []string) (*Principal, context.Context, *Refusal) {
	if s == nil {
		return nil, nil, nil
	}
	for _, token := range shown {
		if strings.Count(token, ".") != 2 {
			continue
		}
		claims, refusal := s.rbac.claims(r.Context(), token)
		if refusal != nil {
			return nil, nil, refusal
		}
		principal, refusal := s.principal(claims)
		if refusal != nil {
			return nil, nil, refusal
		}
		return &principal, s.access(token, claims), nil
	}
	return nil, nil, nil
}

// principal returns the principal of the holder. Its actor cannot be mistaken for one of this server's own.
func (s *Signed) principal(claims jwt.MapClaims) (Principal, *Refusal) {
	role, known := s.rbac.roleOf(claims, ParseRole)
	if !known {
		return Principal{}, forbidden("invalid_role_claim")
	}
	actor, _ := claims[s.rbac.opts.ActorClaim].(string)
	principal := Principal{Actor: "jwt:" + strings.TrimSpace(actor), Role: role, Signed: true}
	if claim, limited := claims[projectsClaim]; limited {
		list, isList := claim.([]any)
		ids := make([]string, 0, len(list))
		for _, one := range list {
			id, isText := one.(string)
			isList = isList && isText
			ids = append(ids, id)
		}
		if !isList {
			return Principal{}, forbidden("invalid_projects_claim")
		}
		principal.Projects = LimitTo(ids...)
	}
	return principal, nil
}

// access returns a context that ends when a token expires; a token without exp never expires.
func (s *Signed) access(token string, claims jwt.MapClaims) context.Context {
	at, expires := claims["exp"].(float64)
	if !expires {
		return context.Background()
	}
	return s.lives.Until(token, time.UnixMilli(int64(at*1000)).Add(jwtLeeway).Sub(s.rbac.opts.Clock()))
}

// Words returns the message for a refused holder.
func (r *Refusal) Words() string {
	switch r.Code {
	case "unauthorized":
		return "this token is unknown to this server, was revoked or has expired: ask an admin for one"
	case TooManyGuesses:
		return r.Message
	case "link_not_valid":
		return "this link was used before, is older than five minutes, or is from before the server's last start: " +
			"run harness open for another one"
	case "no_token_shown":
		return "a link carries the caller's token, and this request has none: a browser on this machine needs no link"
	case "token_too_long":
		return "this token is too long for a browser's cookie: use a shorter one, or sign in with a named token"
	case "rbac_keys_unavailable":
		return "the keys of the issuer cannot be read, so that no signed token can be checked; send the request again later"
	case "missing_exp_claim":
		return "this signed token has no expiry time (exp), which is required here"
	case "invalid_role_claim":
		return "this signed token has no role that is known here: viewer, member, ci, operator, admin, owner or system; the operator can " +
			"name its role claim in AGENT_EXTENSION_RBAC_JWT_ROLE_CLAIM, and translate its roles in HARNESS_ROLE_MAP"
	case "invalid_projects_claim":
		return "the claim projects of this signed token is not a list of project ids"
	}
	return "this signed token is not valid here: its signature, issuer, audience or times are wrong"
}
