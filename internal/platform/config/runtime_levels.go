package config

import (
	"slices"
	"strings"
)

// RuntimeLevels are the levels of a runtime's sessions whose creator sets none; "" means the level of all runtimes.
type RuntimeLevels struct{ Sandbox, Approval string }

// acpAgents stands for all agents of HARNESS_ACP_AGENTS; a single one is acp:NAME.
const acpAgents = "acp"

// leveledRuntimes may have separate levels. codex uses the general defaults.
func leveledRuntimes() []string {
	return []string{"claude", "gemini", "opencode", "claude-acp", "codex-acp", "opencode-acp", acpAgents}
}

func sandboxModes() []string { return []string{"read-only", "workspace-write", "danger-full-access"} }

func approvalPolicies() []string { return []string{"untrusted", "on-failure", "on-request", "never"} }

// isLevelOf accepts RUNTIME=LEVEL: with a misspelled runtime, sessions would silently run at the general level.
func isLevelOf(levels []string) func(string) bool {
	return func(s string) bool {
		runtime, level, _ := strings.Cut(s, "=")
		agent, configured := strings.CutPrefix(runtime, acpAgents+":")
		return (slices.Contains(leveledRuntimes(), runtime) || configured && agent != "") && slices.Contains(levels, level)
	}
}

func levelsAllowed(levels []string) string {
	return "a comma-separated list of RUNTIME=LEVEL, where RUNTIME is " + strings.Join(leveledRuntimes(), ", ") +
		" (all of HARNESS_ACP_AGENTS) or acp:NAME, and LEVEL is " + strings.Join(levels, ", ")
}

func runtimeLevelVariables() []Variable {
	return []Variable{
		{Name: "HARNESS_RUNTIME_SANDBOX", check: isLevelOf(sandboxModes()), Allowed: levelsAllowed(sandboxModes()),
			Doc:   "File-system sandbox of a new session of a runtime whose creator names none. Unset: DEFAULT_SANDBOX_MODE.",
			field: func(c *Config) any { return &c.RuntimeSandbox }},
		{Name: "HARNESS_RUNTIME_APPROVAL", check: isLevelOf(approvalPolicies()), Allowed: levelsAllowed(approvalPolicies()),
			Doc:   "Approval policy of a new session of a runtime whose creator names none. Unset: DEFAULT_APPROVAL_POLICY.",
			field: func(c *Config) any { return &c.RuntimeApproval }},
	}
}

// LevelsOf returns the levels for sessions of a runtime, by its name, and the prefix of their settings' names. The
// prefix is "" for a runtime without separate levels.
func (c *Config) LevelsOf(runtime string) (levels RuntimeLevels, setting string) {
	_, configured := strings.CutPrefix(runtime, acpAgents+":")
	if !configured && !slices.Contains(leveledRuntimes(), runtime) {
		return RuntimeLevels{}, ""
	}
	of := func(list []string) string {
		own := saidOf(runtime, list)
		if own == "" && configured {
			own = saidOf(acpAgents, list)
		}
		return own
	}
	return RuntimeLevels{of(c.RuntimeSandbox), of(c.RuntimeApproval)}, "HARNESS_RUNTIME"
}
