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

// OpenCode's names of this server's tools. Conversations in a folder share their MCP servers. So each conversation
// has an MCP server with a separate name, and may not use the others.
const (
	ownServer    = "harness"
	serverPrefix = ownServer + "_"
	// nameDigits is the number of hexadecimal digits of a session's hash in the name of its server.
	nameDigits = 12
)

// toolWait is how long OpenCode waits for a tool of this server, in milliseconds: a user may take a day to decide.
const toolWait = 24 * 60 * 60 * 1000

// toolServer returns the name of a session's MCP server, "" when there are no tools.
func (o *OpenCode) toolServer(thread string) string {
	if o.options.Tools == "" || thread == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(thread))
	return serverPrefix + hex.EncodeToString(sum[:])[:nameDigits]
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
	rest, owned := strings.CutPrefix(tool, serverPrefix)
	if owned && len(rest) > nameDigits && rest[nameDigits] == '_' {
		return ownServer, rest[nameDigits+1:]
	}
	return Name, tool
}

// attachTools adds the tools of this server to a conversation, once per process.
func (o *OpenCode) attachTools(ctx context.Context, l *line, thread, native string) error {
	name := o.toolServer(thread)
	if name == "" {
		return nil
	}
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
		"config": map[string]any{"type": "remote", "enabled": true, "url": o.options.Door.URL() + runtime.ToolPath, "oauth": false,
			"timeout": toolWait,
			"headers": map[string]string{"Authorization": "Bearer " + o.options.Door.Of(thread)}}})}
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
	name := o.toolServer(thread)
	o.giving.Lock()
	given := o.given[name] == l.Generation()
	delete(o.given, name)
	o.giving.Unlock()
	if !given {
		return
	}
	step := bridge.Step{Do: http.MethodPost, Path: "/mcp/" + name + "/disconnect"}
	if err := l.request(ctx, "tools", native, step, nil); err != nil {
		o.options.Launch.Logger.Debug().Err(err).Str("session_id", thread).
			Msg("opencode keeps a connection to the tools of a session that is gone")
	}
}
