package oidc

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/auth"
)

// Identity is a person for whom a provider vouches.
type Identity struct {
	// Provider is the provider's name. Subject is the provider's id of the person, Session its id of their session (""
	// for none).
	Provider, Subject, Session string
	// Actor is the person in journal and audit log. Name is the display name.
	Actor, Name string
	Role        auth.Role
	// Projects are the projects to which the person is limited, nil for no limit.
	Projects []string
	// Expires is the end of the ID token.
	Expires time.Time
	// Refresh is the refresh token, "" when the provider returned none.
	Refresh string
}

// RefusedError refuses a login, or a token that the provider vouches for. Code is a code of auth.Refusal.
type RefusedError struct {
	Code string
	Err  error
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

func refused(code, format string, args ...any) error {
	return &RefusedError{code, fmt.Errorf(format, args...)}
}

// identity returns the person of an ID token.
func (p *Provider) identity(claims map[string]any, translations map[string]auth.Role) (Identity, error) {
	who := Identity{Provider: p.Name, Subject: textAt(claims, "sub"), Session: textAt(claims, "sid"), Projects: p.Projects}
	actor := textAt(claims, p.ActorClaim)
	if who.Subject == "" || actor == "" {
		return Identity{}, refused("invalid_bearer_token", "provider %s sends no %s of the person", p.Name, p.ActorClaim)
	}
	who.Actor, who.Name = p.actor(actor), p.nameOf(claims, actor)
	role, found := auth.RoleInClaims(claims, p.RoleClaim, translations)
	if !found {
		role, found = auth.ParseRole(p.DefaultRole)
	}
	if !found {
		return Identity{}, refused("invalid_role_claim", "provider %s gives %s no role that is known here in %s: the operator can name the "+
			"claim (roleClaim), translate its roles (HARNESS_ROLE_MAP) or set defaultRole", p.Name, who.Name, p.RoleClaim)
	}
	who.Role = role
	return who, nil
}

// actor returns an actor that cannot be mistaken for one of this server's own.
func (p *Provider) actor(id string) string { return "oidc:" + p.Name + ":" + id }

// maxName bounds a display name, in bytes.
const maxName = 200

func (p *Provider) nameOf(claims map[string]any, actor string) string {
	names := []string{"name", "preferred_username", "email"}
	if p.NameClaim != "" {
		names = []string{p.NameClaim}
	}
	for _, name := range names {
		if text := strings.TrimSpace(textAt(claims, name)); text != "" && len(text) <= maxName {
			return text
		}
	}
	return actor
}

func (p *Provider) limit() *auth.Projects {
	if len(p.Projects) == 0 {
		return nil
	}
	return auth.LimitTo(p.Projects...)
}

// matches reports whether a token has all the claims that its entry requires.
func (p *Provider) matches(claims map[string]any) bool {
	for name, pattern := range p.Claims {
		claim, found := auth.ClaimAt(claims, name)
		if !found || !anyMatches(claim, pattern) {
			return false
		}
	}
	return true
}

// anyMatches matches a claim, or one of a list of claims, as a whole. * stands for any text.
func anyMatches(claim any, pattern string) bool {
	if list, isList := claim.([]any); isList {
		for _, one := range list {
			if _, nested := one.([]any); !nested && anyMatches(one, pattern) {
				return true
			}
		}
		return false
	}
	var text string
	switch value := claim.(type) {
	case string:
		text = value
	case bool:
		text = strconv.FormatBool(value)
	case float64:
		text = strconv.FormatFloat(value, 'f', -1, 64)
	default:
		return false
	}
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile(`(?s)\A` + strings.Join(parts, ".*") + `\z`).MatchString(text)
}

func textAt(claims map[string]any, path string) string {
	claim, _ := auth.ClaimAt(claims, path)
	text, _ := claim.(string)
	return text
}
