// Package environment selects the environment variables and the home folders of runtime processes.
//
// A model controls the commands of a runtime, so the author of the model's input may read all of it. The package owns
// the variables of each runtime, which of them a runtime inherits, and the folders of credential namespaces (Homes).
// It must never know how a runtime uses them.
package environment

import (
	"os"
	"slices"
	"strings"
)

// Values of Policy.Mode and HARNESS_RUNTIME_ENV.
const (
	// ModeInherit gives codex the server's environment without secrets and variables of other runtimes.
	ModeInherit = "inherit"
	// ModeClosed limits codex, too, to the common variables and its own.
	ModeClosed = "closed"
)

// inheritor is the only runtime with ModeInherit: users of codex-manager may rely on the variables that codex passes
// on.
const inheritor = "codex"

// Policy decides which variables runtimes inherit.
type Policy struct {
	// Mode is ModeInherit or ModeClosed; every runtime but codex has a closed environment in both.
	Mode string
	// Secrets are the names of variables that no runtime ever inherits.
	Secrets []string
	// Lookup reads a variable of the server's environment that selects a provider; nil is os.Getenv.
	Lookup func(name string) string
	// Allow lists further inherited variables: NAME or NAME* for all runtimes, RUNTIME:NAME for one.
	Allow []string
}

// common returns the variables that every program needs: paths, the language, and network access.
func common() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM",
		"NO_COLOR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
		"no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
		"GIT_SSL_CAINFO",
	}
}

// owned returns the variables of each provider. Only the runtime of that name gets them.
func owned() map[string][]string {
	return map[string][]string{
		"codex":    {"OPENAI_*", "CODEX_*"},
		"claude":   {"ANTHROPIC_*", "CLAUDE_CODE_*", "AWS_BEARER_TOKEN_BEDROCK"},
		"gemini":   {"GEMINI_*", "GOOGLE_GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GENAI_*"},
		"opencode": {"OPENCODE_*"},
	}
}

// Inherits selects a runtime's variables of the server's environment by name. A cloud's variables require that
// Provider to be chosen. Families are the runtimes with variables for it, by default its own. A bridge to another
// provider names that one.
func (p Policy) Inherits(runtime string, families ...string) func(name string) bool {
	if len(families) == 0 {
		families = []string{runtime}
	}
	var own, others []string
	for family, names := range owned() {
		if slices.Contains(families, family) {
			own = append(own, names...)
		} else {
			others = append(others, names...)
		}
	}
	lookup := p.Lookup
	if lookup == nil {
		lookup = os.Getenv
	}
	for _, provider := range Providers() {
		if slices.Contains(families, provider.Family) && provider.Chosen(lookup) {
			own = append(own, provider.Passes...)
		}
	}
	for _, entry := range p.Allow {
		whose, name, scoped := strings.Cut(entry, ":")
		if !scoped {
			own = append(own, entry)
		} else if whose == runtime {
			own = append(own, name)
		}
	}
	closed, secrets := runtime != inheritor || p.Mode == ModeClosed, slices.Clone(p.Secrets)
	if closed {
		own = append(own, common()...)
	}
	return func(name string) bool {
		switch {
		case slices.Contains(secrets, name):
			return false
		case matches(own, name):
			return true
		}
		return !closed && !matches(others, name)
	}
}

// matches reports whether a list has a name; an entry that ends in "*" matches any name with that prefix.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		beginning, open := strings.CutSuffix(entry, "*")
		return entry == name || open && strings.HasPrefix(name, beginning)
	})
}
