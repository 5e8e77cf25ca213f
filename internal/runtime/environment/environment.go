// Package environment decides what of the server's environment the process of a runtime gets, and which folders are its
// home.
//
// A runtime runs what a model asks for, so all it gets may reach the author of the model's input. It owns which
// variables belong to which runtime, what of them a runtime inherits, and the folders of credential namespaces
// (Homes). It must never know what a runtime does with them.
package environment

import (
	"os"
	"slices"
	"strings"
)

// Words for Policy.Mode, as HARNESS_RUNTIME_ENV takes them.
const (
	// ModeInherit gives codex the server's environment, less what is secret or another runtime's.
	ModeInherit = "inherit"
	// ModeClosed gives codex, too, only what every runtime gets, and its own variables.
	ModeClosed = "closed"
)

// inheritor is the one runtime that ModeInherit is about: programs of codex-manager's users may rely on what codex
// hands on.
const inheritor = "codex"

// Policy says what runtimes inherit.
type Policy struct {
	// Mode is ModeInherit or ModeClosed; every runtime but codex has a closed environment in both.
	Mode string
	// Secrets are the names of variables that no runtime inherits, whatever else is said.
	Secrets []string
	// Lookup is a variable of the server's environment, by which providers are chosen; nil is os.Getenv.
	Lookup func(name string) string
	// Allow are further variables that runtimes inherit: NAME or NAME* for all, RUNTIME:NAME for one.
	Allow []string
}

// common is what every program needs to run here: where things are, the language, and the way to the network.
func common() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "LC_*", "TERM", "COLORTERM",
		"NO_COLOR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy",
		"no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE",
		"GIT_SSL_CAINFO",
	}
}

// owned are the variables of each provider. The runtime of the name gets them, and no other one does.
func owned() map[string][]string {
	return map[string][]string{
		"codex":    {"OPENAI_*", "CODEX_*"},
		"claude":   {"ANTHROPIC_*", "CLAUDE_CODE_*", "AWS_BEARER_TOKEN_BEDROCK"},
		"gemini":   {"GEMINI_*", "GOOGLE_GEMINI_*", "GOOGLE_API_KEY", "GOOGLE_GENAI_*"},
		"opencode": {"OPENCODE_*"},
	}
}

// Inherits selects which variables of the server's environment a runtime gets, by name; those of a cloud it
// gets when it uses that one (Provider). Families are the runtimes whose variables it gets; its own name stands
// for itself when none is given. A runtime that speaks for another provider (a bridge) names that one.
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

// matches reports whether a name is one of a list; an entry that ends in "*" is any with that beginning.
func matches(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		beginning, open := strings.CutSuffix(entry, "*")
		return entry == name || open && strings.HasPrefix(name, beginning)
	})
}
