package config

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	roleMap   = "HARNESS_ROLE_MAP"
	roleWords = "viewer, member, ci, operator, admin, owner, system"
)

// isClaimPath accepts a name, or a path of non-empty names separated by dots.
func isClaimPath(s string) bool {
	return s == strings.TrimSpace(s) && !strings.ContainsFunc(s, unicode.IsControl) && !slices.Contains(strings.Split(s, "."), "")
}

// isRoleTranslation accepts NAME=ROLE.
func isRoleTranslation(s string) bool {
	name, role := cutRole(s)
	return name != "" && slices.Contains(strings.Split(roleWords, ", "), role)
}

// cutRole splits an entry of HARNESS_ROLE_MAP; names of groups may contain "=", roles never do.
func cutRole(entry string) (name, role string) {
	at := strings.LastIndexByte(entry, '=')
	if at < 0 {
		return "", ""
	}
	return strings.TrimSpace(entry[:at]), strings.TrimSpace(entry[at+1:])
}

// RoleTranslations returns the roles by the names that HARNESS_ROLE_MAP translates.
func (c *Config) RoleTranslations() map[string]string {
	roles := map[string]string{}
	for _, entry := range c.Extensions.RoleMap {
		name, role := cutRole(entry)
		roles[name] = role
	}
	return roles
}

func (c *Config) checkRoleMap() error {
	roles := map[string]string{}
	for _, entry := range c.Extensions.RoleMap {
		name, role := cutRole(entry)
		if first, is := roles[name]; is && first != role {
			return &RuleError{roleMap, fmt.Sprintf("it translates %q to %s and to %s: leave one of them", name, first, role)}
		}
		roles[name] = role
	}
	if len(roles) > 0 && c.Extensions.RBACMode != "jwt" && c.OIDCFile == "" {
		return &RuleError{roleMap, "it is for signed tokens and logins, which are not taken here: set AGENT_EXTENSION_RBAC_MODE=jwt or " +
			"HARNESS_OIDC_FILE, or unset it"}
	}
	return nil
}
