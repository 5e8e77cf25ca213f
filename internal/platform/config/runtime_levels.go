package config

import "strings"

// RuntimeLevels are the levels of a runtime's sessions whose creator names none; "" is that of all runtimes.
type RuntimeLevels struct{ Sandbox, Approval string }

// Levels are those of the runtimes that have some of their own. Configured are all of HARNESS_ACP_AGENTS.
type Levels struct{ Claude, Gemini, OpenCode, ClaudeACP, CodexACP, OpenCodeACP, Configured RuntimeLevels }

// leveled is a runtime with levels of its own: its name, or what that begins with, and what the names of its settings
// begin with.
type leveled struct {
	runtime, setting, title string
	levels                  func(*Config) *RuntimeLevels
}

func leveledRuntimes() []leveled {
	return []leveled{
		{"claude", "CLAUDE", "Claude Code", func(c *Config) *RuntimeLevels { return &c.Levels.Claude }},
		{"gemini", "GEMINI", "Gemini CLI", func(c *Config) *RuntimeLevels { return &c.Levels.Gemini }},
		{"opencode", "OPENCODE", "OpenCode", func(c *Config) *RuntimeLevels { return &c.Levels.OpenCode }},
		{"claude-acp", "CLAUDE_ACP", "claude-acp", func(c *Config) *RuntimeLevels { return &c.Levels.ClaudeACP }},
		{"codex-acp", "CODEX_ACP", "codex-acp", func(c *Config) *RuntimeLevels { return &c.Levels.CodexACP }},
		{"opencode-acp", "OPENCODE_ACP", "opencode-acp", func(c *Config) *RuntimeLevels { return &c.Levels.OpenCodeACP }},
		{"acp:", "ACP", "an agent of HARNESS_ACP_AGENTS", func(c *Config) *RuntimeLevels { return &c.Levels.Configured }},
	}
}

func runtimeLevelVariables() (variables []Variable) {
	for _, one := range leveledRuntimes() {
		setting := "HARNESS_RUNTIME_" + one.setting
		variables = append(variables,
			Variable{Name: setting + "_SANDBOX", Enum: []string{"read-only", "workspace-write", "danger-full-access"},
				Doc: "File-system sandbox of a new session of " + one.title +
					" whose creator names none. Unset: DEFAULT_SANDBOX_MODE.",
				field: func(c *Config) any { return &one.levels(c).Sandbox }},
			Variable{Name: setting + "_APPROVAL", Enum: []string{"untrusted", "on-failure", "on-request", "never"},
				Doc: "Approval policy of a new session of " + one.title +
					" whose creator names none. Unset: DEFAULT_APPROVAL_POLICY.",
				field: func(c *Config) any { return &one.levels(c).Approval }})
	}
	return variables
}

// LevelsOf are the levels of sessions of a runtime, by its name, and what the names of their settings begin with: "" for
// a runtime that has none of its own.
func (c *Config) LevelsOf(runtime string) (levels RuntimeLevels, setting string) {
	for _, one := range leveledRuntimes() {
		if runtime == one.runtime || strings.HasSuffix(one.runtime, ":") && strings.HasPrefix(runtime, one.runtime) {
			return *one.levels(c), "HARNESS_RUNTIME_" + one.setting
		}
	}
	return RuntimeLevels{}, ""
}
