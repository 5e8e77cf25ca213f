package codex

import (
	"context"

	"harness/internal/runtime"
)

// toolWait is how long codex waits for a tool of this server, in seconds: a user may take a day to decide.
const toolWait = 24 * 60 * 60

// toolsStart is how long codex waits for this server when it loads a conversation, in seconds. Its default of 30, or
// 10 in old versions, is too short on a busy machine. After a timeout the conversation has no tools until codex loads
// it again.
const toolsStart = 60

// grant issues the bearer token of a new conversation; bind stores its id.
func (c *Codex) grant(config object) (bind func(ctx context.Context, threadID string) error) {
	if c.options.Setup.Door == nil {
		return func(context.Context, string) error { return nil }
	}
	bearer, bind := c.options.Setup.Door.Unnamed()
	c.show(config, bearer)
	return bind
}

// show adds a bearer token to the configuration of a conversation, for its commands and for the tools of this server.
func (c *Codex) show(config object, bearer string) {
	for name, value := range runtime.DoorVariables(c.options.Setup.Door.URL(), bearer) {
		config["shell_environment_policy.set."+name] = value
	}
	for _, one := range c.options.Setup.Servers(bearer) {
		serveTools(config, one)
	}
}

// serveTools adds an MCP server to the configuration of a conversation. This server approves its tools, so codex
// requests no approval.
func serveTools(config object, server runtime.ToolServer) {
	key := "mcp_servers." + server.Name + "."
	config[key+"url"] = server.URL
	config[key+"http_headers"] = map[string]string{"Authorization": "Bearer " + server.Token}
	config[key+"default_tools_approval_mode"] = "approve"
	config[key+"tool_timeout_sec"] = toolWait
	config[key+"startup_timeout_sec"] = toolsStart
}
