package config

import (
	"slices"
	"testing"
)

// The levels of a runtime are those of its settings, and the names in them are settings. codex uses the general
// defaults.
func TestLevelsOfRuntimes(t *testing.T) {
	t.Parallel()
	for runtime, want := range map[string]string{"codex": "", "claude": "HARNESS_RUNTIME_CLAUDE",
		"gemini": "HARNESS_RUNTIME_GEMINI", "opencode": "HARNESS_RUNTIME_OPENCODE",
		"claude-acp": "HARNESS_RUNTIME_CLAUDE_ACP", "codex-acp": "HARNESS_RUNTIME_CODEX_ACP",
		"opencode-acp": "HARNESS_RUNTIME_OPENCODE_ACP", "acp:goose": "HARNESS_RUNTIME_ACP"} {
		p := newPlace(t)
		if want != "" {
			p.env = []string{want + "_SANDBOX=danger-full-access", want + "_APPROVAL=on-request"}
		}
		levels, setting := p.mustLoad().LevelsOf(runtime)
		if setting != want || (levels == RuntimeLevels{"danger-full-access", "on-request"}) != (want != "") {
			t.Errorf("%s has %+v by %q", runtime, levels, setting)
		}
		if named := func(v Variable) bool { return v.Name == setting+"_SANDBOX" }; want != "" &&
			!slices.ContainsFunc(Variables(), named) {
			t.Errorf("%s names %s_SANDBOX, which is not a setting", runtime, setting)
		}
	}
}
