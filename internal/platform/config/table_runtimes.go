package config

import "slices"

func runtimeVariables() []Variable {
	return grouped("Runtimes", slices.Concat(programVariables(), processVariables(), isolationVariables()))
}

// programVariables set which runtimes there are.
func programVariables() []Variable {
	return []Variable{
		{Name: "HARNESS_RUNTIMES",
			Allowed: "a comma-separated list of runtimes this program has: codex, claude, gemini, opencode, claude-acp, codex-acp, " +
				"opencode-acp, or acp:NAME of HARNESS_ACP_AGENTS",
			Doc: "Runtimes of this server. Sessions of other runtimes stay readable; their running turns are stopped. " +
				"Unset: codex, and claude, gemini and opencode if their program is found.",
			field: func(c *Config) any { return &c.Runtimes }},
		{Name: "HARNESS_DEFAULT_RUNTIME", Allowed: "one of HARNESS_RUNTIMES",
			Doc:   "Default runtime of new sessions. Unset: the first of HARNESS_RUNTIMES.",
			field: func(c *Config) any { return &c.DefaultRuntime }},
		{Name: "CODEX_BIN", Default: "codex", check: notEmpty, Allowed: "a command name or a path",
			Doc:   "codex executable, looked up on PATH when it has no slash; unset and not on PATH: the one beside harness's own executable.",
			field: func(c *Config) any { return &c.CodexBin }},
		{Name: "CLAUDE_BIN", Default: "claude", check: notEmpty, Allowed: "a command name or a path",
			Doc:   "Claude Code's executable, looked up on PATH when it has no slash.",
			field: func(c *Config) any { return &c.ClaudeBin }},
		{Name: "OPENCODE_BIN", Default: "opencode", check: notEmpty, Allowed: "a command name or a path",
			Doc:   "OpenCode executable, looked up on PATH when it has no slash.",
			field: func(c *Config) any { return &c.OpenCodeBin }},
		{Name: "GEMINI_BIN", Default: "gemini", check: notEmpty, Allowed: "a command name or a path",
			Doc:   "Gemini CLI's executable, looked up on PATH when it has no slash.",
			field: func(c *Config) any { return &c.GeminiBin }},
		{Name: "CODEX_HOME", path: true, Allowed: "a folder",
			Doc:   "Folder where codex keeps its own state; unset leaves the choice to codex.",
			field: func(c *Config) any { return &c.CodexHome }},
		{Name: "OPENAI_API_KEY", Secret: true,
			Doc:   "Passed to the runtime; /api/health shows only whether it is set.",
			field: func(c *Config) any { return &c.OpenAIAPIKey }},
		{Name: "HARNESS_ACP_AGENTS", Secret: true,
			Allowed: `JSON: {"NAME": "COMMAND LINE"}, or {"NAME": {"command": [...], "env": {...}, "modes": {...}, "reads": [...]}}`,
			Doc: "Further agents of the Agent Client Protocol, as runtimes acp:NAME (docs/runtimes/acp.md); " +
				"HARNESS_RUNTIMES turns them on. They are a preview.",
			field: func(c *Config) any { return &c.ACPAgents }},
		{Name: "HARNESS_RUNTIME_STATUS", check: isRuntimeStatus,
			Allowed: "a comma-separated list of RUNTIME=STATUS with active, preview, deprecated or disabled",
			Doc: "Status of runtimes for clients; default: active, agents of HARNESS_ACP_AGENTS preview. A disabled " +
				"runtime is never started.",
			field: func(c *Config) any { return &c.RuntimeStatus }},
		{Name: "HARNESS_WORKSPACE", path: true, Allowed: "a folder",
			Doc: "Default folder of new sessions; runtimes must be able to write there. Unset: the server's working " +
				"directory.",
			field: func(c *Config) any { return &c.Workspace }},
	}
}

// processVariables set how long processes of runtimes live, and their resources.
func processVariables() []Variable {
	return []Variable{
		{Name: "HARNESS_RUNTIME_HANG_MS", Default: "120000", check: zeroOrSecond, Allowed: "0, or at least 1000",
			Doc: "Time without an answer to a health probe after which a runtime is killed and restarted; its status is " +
				"unresponsive after a quarter of it. 0 asks nothing.",
			field: func(c *Config) any { return &c.RuntimeHang }},
		{Name: "HARNESS_TURN_IDLE_TIMEOUT_MS", Default: "600000", check: zeroOrSecond, Allowed: "0, or at least 1000",
			Doc: "Time an agent may send nothing in a turn, without an open request, before the turn is stopped; its " +
				"process is ended when that does not help. " +
				"Not of codex. 0 waits for ever.",
			field: func(c *Config) any { return &c.TurnIdle }},
		{Name: "HARNESS_RUNTIME_LIMITS", check: isRuntimeLimit,
			Allowed: "a comma-separated list of NAME=N and RUNTIME.NAME=N, where NAME is turns, messages, session-messages, processes, " +
				"memory-mb or start-ms",
			Doc: "What runtimes may use. turns (no limit): a message that would begin one more waits in the order of arrival, as jobs do. " +
				"messages (4096) and session-messages (256): those on their way to a runtime or to one session; one more is refused with " +
				"429. processes (8) of a runtime that has one for each session: a session beyond it takes the place of an idle one, or " +
				"waits. memory-mb (512): resident MiB above which codex is restarted while nothing runs in it and nothing waits; Linux. " +
				"start-ms (30000): from spawning a runtime to its answer to initialize. 0: no limit.",
			field: func(c *Config) any { return &c.RuntimeLimits }},
		{Name: "HARNESS_DETACH_GRACE_MS", Default: "900000",
			Doc: "Longest time a runtime may run while no server is attached to its shim, which has turns outlive the server. " +
				"0 runs runtimes as the server's children, without a shim.",
			field: func(c *Config) any { return &c.DetachGrace }},
		{Name: "HARNESS_KEEP_RUNTIMES", Default: "false",
			Doc:   "Leave the runtimes running when the server stops, so that the next one continues with them (an upgrade).",
			field: func(c *Config) any { return &c.KeepRuntimes }},
		{Name: "HARNESS_KEEP_NATIVE", Default: "ring", Enum: []string{"ring", "all", "off"},
			Doc: "What is kept of the lines of a runtime whose words are translated (none of codex): the last 2,000 of a " +
				"session in DATA_DIR/native, all as events that are not shown, or none.",
			field: func(c *Config) any { return &c.KeepNative }},
	}
}

// isolationVariables set what processes of runtimes can reach.
func isolationVariables() []Variable {
	return []Variable{
		{Name: "HARNESS_RUNTIME_CONFINE", Default: "auto", Enum: []string{"auto", "required", "off"},
			Doc: "Hide the data directory and the server's settings from runtimes, and keep them from its ports; auto starts with a " +
				"warning where this machine does not allow it, required does not start.",
			field: func(c *Config) any { return &c.RuntimeConfine }},
		{Name: "HARNESS_RUNTIME_USER", Allowed: "a user name; the server must run as root",
			Doc:   "User that runtimes run as; workspaces must be writable for it. Unset: the server's own.",
			field: func(c *Config) any { return &c.RuntimeUser }},
		{Name: "HARNESS_RUNTIME_ENV", Default: "inherit", Enum: []string{"inherit", "closed"},
			Doc: "What codex gets of the server's environment: inherit is all but secrets of the server and variables of " +
				"other runtimes' providers, closed " +
				"is what every other runtime gets: PATH, HOME, the language, proxies, CA files and the variables of its own provider.",
			field: func(c *Config) any { return &c.RuntimeEnv }},
		{Name: "HARNESS_RUNTIME_ENV_ALLOW", check: isAllowedVariable,
			Allowed: "a comma-separated list of NAME, PREFIX* (at least 3 characters) or RUNTIME:NAME",
			Doc: "Further environment variables of the server that runtimes get: all runtimes or one. Never a secret of " +
				"the server.",
			field: func(c *Config) any { return &c.RuntimeEnvAllow }},
		{Name: "HARNESS_RUNTIME_CREDENTIALS", Default: "namespaced", check: isCredentialLevel,
			Allowed: "a comma-separated list of shared, namespaced, ephemeral and RUNTIME=LEVEL",
			Doc: "Where runtimes but codex (CODEX_HOME) keep logins, settings and state: the home of their user (shared), a " +
				"folder of the namespace, or one " +
				"of each session, which goes with it (ephemeral).",
			field: func(c *Config) any { return &c.RuntimeCredentials }},
		{Name: "HARNESS_CREDENTIAL_NAMESPACE", Default: "default", check: isNamespace,
			Allowed: "1 to 64 bytes of printable text",
			Doc:     "Credential namespace of this server's sessions. No two names share a folder.",
			field:   func(c *Config) any { return &c.CredentialNamespace }},
		{Name: "HARNESS_CREDENTIAL_DIR", path: true, Allowed: "a folder",
			Doc:   "Folder of credential namespaces; HARNESS_RUNTIME_USER must be able to reach it. Unset: credentials in DATA_DIR.",
			field: func(c *Config) any { return &c.CredentialDir }},
	}
}
