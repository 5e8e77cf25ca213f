package config

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// CredentialLevel returns the level of a runtime's credentials: the level set for it, or else for all runtimes, or else
// namespaced. If it is set twice, the last one counts.
func (c *Config) CredentialLevel(runtime string) string {
	return cmp.Or(saidOf(runtime, c.RuntimeCredentials), "namespaced")
}

// saidOf returns the value for a runtime in a list of VALUE and RUNTIME=VALUE: the value set for it, or else for all,
// or else "".
func saidOf(runtime string, list []string) string {
	var all, own string
	for _, entry := range list {
		whose, value, scoped := strings.Cut(entry, "=")
		if !scoped {
			all = entry
		} else if whose == runtime {
			own = value
		}
	}
	return cmp.Or(own, all)
}

// providerKeys are secrets of this server that are a runtime's credentials: an operator may pass them to other
// runtimes.
func providerKeys() []string { return []string{"OPENAI_API_KEY"} }

// KeptSecrets returns the variables that no runtime inherits, whatever is allowed.
func (c *Config) KeptSecrets() []string {
	return slices.DeleteFunc(c.OwnSecrets(), func(name string) bool { return slices.Contains(providerKeys(), name) })
}

// checkAllowed refuses to pass secrets of the server to runtimes.
func (c *Config) checkAllowed() error {
	for _, entry := range c.RuntimeEnvAllow {
		_, name, scoped := strings.Cut(entry, ":")
		if !scoped {
			name = entry
		}
		if slices.Contains(c.KeptSecrets(), name) {
			return &RuleError{"HARNESS_RUNTIME_ENV_ALLOW", name + " is a secret of the server, which no runtime gets"}
		}
	}
	return nil
}

func isAllowedVariable(s string) bool {
	return regexp.MustCompile(`^([^:]+:)?([A-Za-z_][A-Za-z0-9_]*|[A-Za-z_][A-Za-z0-9_]{2,}\*)$`).MatchString(s)
}

func isCredentialLevel(s string) bool {
	whose, level, scoped := strings.Cut(s, "=")
	if !scoped {
		level = s
	} else if whose == "" {
		return false
	}
	return contains([]string{"shared", "namespaced", "ephemeral"}, level)
}

func isNamespace(s string) bool {
	return s != "" && len(s) <= 64 && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
