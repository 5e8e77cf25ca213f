package config

import "strings"

func toolVariables() []Variable {
	return grouped("Tools", []Variable{
		{Name: "HARNESS_NATIVE_TOOLS", Default: "on", Enum: []string{"on", "off"},
			Doc: "Whether agents have tools of their own. off: no session has them, and runtimes that cannot disable them " +
				"open none (nativeToolsOff of their capabilities). A session can be opened without them in any case.",
			field: func(c *Config) any { return &c.Tools.Native }},
		{Name: "HARNESS_TOOLS",
			Allowed: "a comma-separated list of workspace.read, workspace.list, workspace.write, patch.apply, http.fetch and workspace.exec",
			Doc:     "Tools of this server that agents are given over MCP, decided about here. Unset: none.",
			field:   func(c *Config) any { return &c.Tools.Names }},
		{Name: "HARNESS_TOOLS_RUNTIMES", Allowed: "a comma-separated list of runtimes",
			Doc:   "Runtimes whose agents are given the tools. Unset: every runtime that takes MCP servers over HTTP.",
			field: func(c *Config) any { return &c.Tools.Runtimes }},
		{Name: "HARNESS_TOOLS_MODE", Default: "auto", Enum: []string{"ask", "auto", "yolo"},
			Doc:   "What of them runs unasked: nothing, what only reads, or everything (which takes HARNESS_ALLOW_YOLO).",
			field: func(c *Config) any { return &c.Tools.Mode }},
		{Name: "HARNESS_ALLOW_YOLO", Default: "false",
			Doc: "Consent to running without approvals: the mode yolo of tools, and sessions without sandbox and approvals by " +
				"JSON-RPC (yolo_mode).",
			field: func(c *Config) any { return &c.AllowYolo }},
		{Name: "HARNESS_TOOLS_ALLOW",
			Allowed: "a comma-separated list of tools, and classes (read-only, write, network, dangerous)",
			Doc:     "Tools and classes that run unasked in every mode, unless they are denied.",
			field:   func(c *Config) any { return &c.Tools.Allow }},
		{Name: "HARNESS_TOOLS_DENY",
			Allowed: "a comma-separated list of tools, and classes (read-only, write, network, dangerous)",
			Doc:     "Tools and classes that never run.",
			field:   func(c *Config) any { return &c.Tools.Deny }},
		{Name: "HARNESS_TOOLS_PROGRAMS", Allowed: "a comma-separated list of programs, without folders",
			Doc:   "Programs that workspace.exec may run.",
			field: func(c *Config) any { return &c.Tools.Programs }},
		{Name: "HARNESS_TOOLS_COMMANDS", Secret: true,
			Allowed: `a JSON object, {"team.lookup": {"command": ["PROGRAM"], "class": "read-only", "description": "..."}}`,
			Doc:     "Tools of your own, under the same policy: commands that get their input as JSON (docs/tools.md).",
			field:   func(c *Config) any { return &c.Tools.Commands }},
		{Name: "HARNESS_TOOLS_SERVERS", Secret: true,
			Allowed: `a JSON object, {"tickets": {"url": "https://...", "classes": {"lookup": "read-only"}}}; ` +
				`"command": ["PROGRAM"] instead of a url`,
			Doc:   "MCP servers whose tools are given to agents, under the same policy; a tool without a class is not.",
			field: func(c *Config) any { return &c.Tools.Servers }},
		{Name: "HARNESS_TOOLS_EXTENSIONS", Allowed: "a comma-separated list of names of manifests; * is every extension",
			Doc:   "Extensions whose tools are given to agents, under the same policy. Their manifests say the class of each.",
			field: func(c *Config) any { return &c.Tools.Extensions }},
		{Name: "HARNESS_TOOLS_SANDBOX", Default: "docker", check: isToolSandbox,
			Allowed: "docker:IMAGE with an image that is there (it is not fetched), or bubblewrap",
			Doc:     "In what workspace.exec runs; where that does not work, or docker has no image, it does not run.",
			field:   func(c *Config) any { return &c.Tools.Sandbox }},
		{Name: "HARNESS_TOOLS_HOSTS",
			Allowed: "a comma-separated list of hosts, with their ports where they are not those of the scheme",
			Doc:     "Hosts that http.fetch may reach. Unset: every one with a public address.",
			field:   func(c *Config) any { return &c.Tools.Hosts }},
	})
}

func isToolSandbox(s string) bool {
	image, named := strings.CutPrefix(s, "docker:")
	return s == "docker" || s == "bubblewrap" || named && image != ""
}
