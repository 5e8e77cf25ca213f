package opencode

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
)

// nameDigits is the number of hexadecimal digits of a session's hash in the names of its MCP servers.
const nameDigits = 12

// toolWait is how long OpenCode waits for a tool of this server, in milliseconds: a user may take a day to decide.
const toolWait = 24 * 60 * 60 * 1000

// served returns OpenCode's name of an MCP server of a session. Conversations in a folder share their MCP servers. So
// each has servers with separate names, and may not use the others.
func served(server, thread string) string {
	sum := sha256.Sum256([]byte(thread))
	return server + "_" + hex.EncodeToString(sum[:])[:nameDigits]
}

// toolRules allow a conversation the tools of its MCP servers, which make their own requests, and deny those of others.
func (o *OpenCode) toolRules(thread string) (rules []rule) {
	if thread == "" {
		return nil
	}
	for _, server := range o.options.ServerNames() {
		rules = append(rules, rule{server + "_*", "*", deny}, rule{served(server, thread) + "_*", "*", allow})
	}
	return rules
}

// nativeToolsOff reports whether OpenCode's own tools are disabled in a conversation.
func (o *OpenCode) nativeToolsOff(ctx context.Context, thread string) (bool, error) {
	if o.options.NativeToolsOff == nil {
		return false, nil
	}
	return o.options.NativeToolsOff(ctx, thread)
}

// called returns the MCP server and the name of a tool.
func called(tool string) (server, name string) {
	server, rest, owned := strings.Cut(tool, "_")
	if owned && strings.HasPrefix(server, serverPrefix) && len(rest) > nameDigits && rest[nameDigits] == '_' {
		return server, rest[nameDigits+1:]
	}
	return Name, tool
}

// serverPrefix starts the names of this server's MCP servers.
const serverPrefix = "harness"

// attachTools adds the MCP servers of this server to a conversation, once per process.
func (o *OpenCode) attachTools(ctx context.Context, l *line, thread, native string) error {
	if thread == "" || o.options.Door == nil {
		return nil
	}
	for _, one := range o.options.Servers(o.options.Door.Of(thread)) {
		if err := o.attach(ctx, l, served(one.Name, thread), native, one); err != nil {
			return err
		}
	}
	return nil
}

// attach adds one MCP server under a name.
func (o *OpenCode) attach(ctx context.Context, l *line, name, native string, server runtime.ToolServer) error {
	o.giving.Lock()
	given := o.given[name] == l.Generation()
	o.giving.Unlock()
	if given {
		return nil
	}
	var states map[string]struct {
		Status string `json:"status"`
		Error  string `json:"error"`
	}
	step := bridge.Step{Do: http.MethodPost, Path: "/mcp", Body: encoded(map[string]any{"name": name,
		"config": map[string]any{"type": "remote", "enabled": true, "url": server.URL, "oauth": false, "timeout": toolWait,
			"headers": map[string]string{"Authorization": "Bearer " + server.Token}}})}
	if err := l.request(ctx, "tools", native, step, &states); err != nil {
		return fmt.Errorf("give opencode the tools of this server: %w", err)
	}
	if state := states[name]; state.Status != "connected" {
		return fmt.Errorf("give opencode the tools of this server: it reaches them not (%s %s)", state.Status, state.Error)
	}
	o.giving.Lock()
	o.given[name] = l.Generation()
	o.giving.Unlock()
	return nil
}

// detachTools ends the connection of a deleted conversation. A remaining connection reaches no session.
func (o *OpenCode) detachTools(ctx context.Context, l *line, thread, native string) {
	for _, server := range o.options.ServerNames() {
		name := served(server, thread)
		o.giving.Lock()
		given := o.given[name] == l.Generation()
		delete(o.given, name)
		o.giving.Unlock()
		if !given {
			continue
		}
		step := bridge.Step{Do: http.MethodPost, Path: "/mcp/" + name + "/disconnect"}
		if err := l.request(ctx, "tools", native, step, nil); err != nil {
			o.options.Launch.Logger.Debug().Err(err).Str("session_id", thread).
				Msg("opencode keeps a connection to the tools of a session that is gone")
		}
	}
}
