package config

func toolVariables() []Variable {
	return grouped("Tools", []Variable{
		{Name: "HARNESS_TOOLS", Allowed: "a comma-separated list of workspace.read, workspace.list, workspace.write, patch.apply, http.fetch and workspace.exec",
			Doc:   "Tools of this server that agents are given over MCP, decided about here (codex and Claude Code). Unset: none.",
			field: func(c *Config) any { return &c.Tools.Names }},
		{Name: "HARNESS_TOOLS_MODE", Default: "auto", Enum: []string{"ask", "auto", "yolo"},
			Doc:   "What of them runs unasked: nothing, what only reads, or everything (which takes HARNESS_ALLOW_YOLO).",
			field: func(c *Config) any { return &c.Tools.Mode }},
		{Name: "HARNESS_ALLOW_YOLO", Default: "false",
			Doc:   "Consent to what asks nobody: the mode yolo of tools, and sessions without sandbox and approvals by JSON-RPC (yolo_mode).",
			field: func(c *Config) any { return &c.AllowYolo }},
		{Name: "HARNESS_TOOLS_ALLOW", Allowed: "a comma-separated list of tools, and classes (read-only, write, network, dangerous)",
			Doc:   "Tools and classes that run unasked in every mode, unless they are denied.",
			field: func(c *Config) any { return &c.Tools.Allow }},
		{Name: "HARNESS_TOOLS_DENY", Allowed: "a comma-separated list of tools, and classes (read-only, write, network, dangerous)",
			Doc:   "Tools and classes that never run.",
			field: func(c *Config) any { return &c.Tools.Deny }},
		{Name: "HARNESS_TOOLS_PROGRAMS", Allowed: "a comma-separated list of programs, without folders",
			Doc:   "Programs that workspace.exec may run.",
			field: func(c *Config) any { return &c.Tools.Programs }},
		{Name: "HARNESS_TOOLS_SANDBOX", Default: "docker", Enum: []string{"docker", "bubblewrap"},
			Doc:   "In what workspace.exec runs; where that does not work it does not run.",
			field: func(c *Config) any { return &c.Tools.Sandbox }},
		{Name: "HARNESS_TOOLS_IMAGE", Allowed: "the name of an image that is there; it is not fetched",
			Doc:   "Image of the containers of HARNESS_TOOLS_SANDBOX=docker.",
			field: func(c *Config) any { return &c.Tools.Image }},
		{Name: "HARNESS_TOOLS_HOSTS", Allowed: "a comma-separated list of hosts, with their ports where they are not those of the scheme",
			Doc:   "Hosts that http.fetch may reach. Unset: every one with a public address.",
			field: func(c *Config) any { return &c.Tools.Hosts }},
	})
}
