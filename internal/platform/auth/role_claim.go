package auth

import (
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// weakestFirst is the order of the roles that a signed token can give.
var weakestFirst = []Role{RoleCI, RoleMember, RoleOperator, RoleAdmin, RoleOwner, RoleSystem}

// ParseRole parses the role names of signed tokens: codex-manager's, those of named tokens, and viewer, which is member.
func ParseRole(word string) (Role, bool) {
	if word == "viewer" {
		return RoleMember, true
	}
	return Role(word), slices.Contains(weakestFirst, Role(word))
}

// extensionRole parses the roles of the extension routes.
func extensionRole(word string) (Role, bool) { return Role(word), Role(word).Valid() }

// roleOf is the highest role of a token's role claim that parse knows; a translated name counts only as its
// translation.
func (r *RBAC) roleOf(claims jwt.MapClaims, parse func(word string) (Role, bool)) (highest Role, found bool) {
	return highestRole(claims, r.opts.RoleClaim, r.opts.RoleMap, parse)
}

// RoleInClaims is the highest role of a claim. path is the claim's name or a path of names with dots;
// translations are those of HARNESS_ROLE_MAP.
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

// ClaimAt is the claim of a name or, where there is none, at a path of names with dots. Names may have dots themselves
// (an URL, a client of Keycloak): the whole of what is left is tried before its parts are.
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

// textsOf are the texts of a claim that is one or a list; what else is in a list is no name of a role.
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
