package config

import "strings"

func toolVariables() []Variable {
	return grouped("Tools", []Variable{
		{Name: "HARNESS_NATIVE_TOOLS", Default: "on", Enum: []string{"on", "off"},
			Doc: "Whether agents have tools of their own. off: no session has them, and runtimes that cannot disable them " +
				"open none (nativeToolsOff of their capabilities). A session can be opened without them in any case.",
			field: func(c *Config) any { return &c.Tools.Native }},
		{Name: "HARNESS_TOOLS",
			check: func(s string) bool { return s != extensionTools },
			Allowed: "a comma-separated list of workspace.read, workspace.list, workspace.write, patch.apply, http.fetch, workspace.exec " +
				"and extension:NAME (of a manifest; * is every extension)",
			Doc: "Tools of this server that agents are given over MCP, decided about here, and extensions whose tools they are given; " +
				"their manifests say the class of each. Unset: none.",
			field: func(c *Config) any { return &c.tools }},
		{Name: "HARNESS_TOOLS_RUNTIMES", Allowed: "a comma-separated list of runtimes",
			Doc: "Runtimes whose agents are given the tools and the control of HARNESS_CONTROL_AGENTS. " +
				"Unset: every runtime that takes MCP servers over HTTP.",
			field: func(c *Config) any { return &c.Tools.Runtimes }},
		{Name: "HARNESS_TOOLS_MODE", Default: "auto", Enum: []string{"ask", "auto", "yolo"},
			Doc:   "Tools that run without approval: none, read-only ones, or all (needs HARNESS_ALLOW_YOLO).",
			field: func(c *Config) any { return &c.Tools.Mode }},
		{Name: "HARNESS_ALLOW_YOLO", Default: "false",
			Doc: "Allow running without approvals: the tool mode yolo, and sessions without sandbox and approvals by " +
				"JSON-RPC (yolo_mode).",
			field: func(c *Config) any { return &c.AllowYolo }},
		{Name: "HARNESS_TOOLS_RULES", check: isToolRule,
			Allowed: "a comma-separated list of NAME=allow and NAME=deny, where NAME is a tool or a class (read-only, write, network, dangerous)",
			Doc:     "Tools and classes that always run without approval, and those that never run; deny overrides allow.",
			field:   func(c *Config) any { return &c.toolRules }},
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
		{Name: "HARNESS_TOOLS_SANDBOX", Default: "docker", check: isToolSandbox,
			Allowed: "docker:IMAGE with an image that is there (it is not fetched), or bubblewrap",
			Doc:     "Sandbox of workspace.exec; if it is not available, or docker has no image, the tool does not run.",
			field:   func(c *Config) any { return &c.Tools.Sandbox }},
		{Name: "HARNESS_TOOLS_HOSTS",
			Allowed: "a comma-separated list of hosts, with their ports where they are not those of the scheme",
			Doc:     "Hosts that http.fetch may reach. Unset: every one with a public address.",
			field:   func(c *Config) any { return &c.Tools.Hosts }},
	})
}

// extensionTools is the prefix of the entries of HARNESS_TOOLS that name an extension.
const extensionTools = "extension:"

func isToolRule(s string) bool {
	name, decision, _ := strings.Cut(s, "=")
	return name != "" && (decision == "allow" || decision == "deny")
}

// setTools splits HARNESS_TOOLS and HARNESS_TOOLS_RULES.
func (c *Config) setTools() {
	for _, name := range c.tools {
		if extension, is := strings.CutPrefix(name, extensionTools); is {
			c.Tools.Extensions = append(c.Tools.Extensions, extension)
		} else {
			c.Tools.Names = append(c.Tools.Names, name)
		}
	}
	for _, rule := range c.toolRules {
		if name, decision, _ := strings.Cut(rule, "="); decision == "allow" {
			c.Tools.Allow = append(c.Tools.Allow, name)
		} else {
			c.Tools.Deny = append(c.Tools.Deny, name)
		}
	}
}

func isToolSandbox(s string) bool {
	image, named := strings.CutPrefix(s, "docker:")
	return s == "docker" || s == "bubblewrap" || named && image != ""
}
