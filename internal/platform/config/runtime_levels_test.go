package config

import (
	"slices"
	"strings"
	"testing"
)

// The levels of a runtime are those of its settings, whose names are settings. codex uses the general defaults.
func TestLevelsOfRuntimes(t *testing.T) {
	t.Parallel()
	for runtime, named := range map[string]string{"codex": "", "claude": "claude", "gemini": "gemini", "opencode": "opencode",
		"claude-acp": "claude-acp", "codex-acp": "codex-acp", "opencode-acp": "opencode-acp", "acp:goose": "acp",
		"acp:own": "acp=read-only,acp:own"} {
		p, want := newPlace(t), ""
		if named != "" {
			want = "HARNESS_RUNTIME"
			p.env = []string{want + "_SANDBOX=" + named + "=danger-full-access",
				want + "_APPROVAL=" + strings.Replace(named, "read-only", "never", 1) + "=on-request"}
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
