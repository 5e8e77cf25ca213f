package auth

import (
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// weakestFirst is the order of the roles that a signed token can grant.
var weakestFirst = []Role{RoleCI, RoleMember, RoleOperator, RoleAdmin, RoleOwner, RoleSystem}

// ParseRole parses the role names of signed tokens: codex-manager's names, the names of named tokens, and viewer, which
// means member.
func ParseRole(word string) (Role, bool) {
	if word == "viewer" {
		return RoleMember, true
	}
	return Role(word), slices.Contains(weakestFirst, Role(word))
}

// extensionRole parses the roles of the extension routes.
func extensionRole(word string) (Role, bool) { return Role(word), Role(word).Valid() }

// roleOf returns the highest role in a token's role claim that parse accepts; a translated name counts only as its
// translation.
func (r *RBAC) roleOf(claims jwt.MapClaims, parse func(word string) (Role, bool)) (highest Role, found bool) {
	return highestRole(claims, r.opts.RoleClaim, r.opts.RoleMap, parse)
}

// RoleInClaims returns the highest role in a claim. path is the claim's name, or a path of names separated by dots;
// translations come from HARNESS_ROLE_MAP.
func RoleInClaims(claims map[string]any, path string, translations map[string]Role) (highest Role, found bool) {
	return highestRole(claims, path, translations, ParseRole)
}

func highestRole(claims map[string]any, path string, translations map[string]Role, parse func(word string) (Role, bool)) (
	highest Role, found bool) {
	claim, _ := ClaimAt(claims, path)
	for _, name := range textsOf(claim) {
		name = strings.TrimSpace(name)
		if translated, is := translations[name]; is {
			name = string(translated)
		}
		role, known := parse(name)
		if known && (!found || slices.Index(weakestFirst, role) > slices.Index(weakestFirst, highest)) {
			highest, found = role, true
		}
	}
	return highest, found
}

// ClaimAt returns the claim with a name or, if there is none, the claim at a path of names separated by dots. Names may
// contain dots (a URL, a client of Keycloak), so the whole remaining path is tried before its parts.
func ClaimAt(claims map[string]any, path string) (claim any, found bool) {
	if claim, found = claims[path]; found {
		return claim, true
	}
	for i := range len(path) {
		if path[i] != '.' {
			continue
		}
		if inner, is := claims[path[:i]].(map[string]any); is {
			if claim, found = ClaimAt(inner, path[i+1:]); found {
				return claim, true
			}
		}
	}
	return nil, false
}

// textsOf returns the texts of a claim that is a text or a list. Other values in a list cannot be role names, and are
// ignored.
func textsOf(claim any) (texts []string) {
	list, isList := claim.([]any)
	if !isList {
		list = []any{claim}
	}
	for _, one := range list {
		if text, is := one.(string); is {
			texts = append(texts, text)
		}
	}
	return texts
}
