package wire

import (
	"encoding/json"
	"strings"

	"harness/internal/lib/javascript"
)

// Call is a tool call as its item shows it.
type Call struct {
	// ID is the runtime's own. Server owns the tool ("" for a runtime's tool without a server).
	ID, Server string
	// Name is the tool's name for all runtimes, Input its input.
	Name  string
	Input json.RawMessage
	// Status is a status of items. Failed means for an ended call that it had no success.
	Status string
	Failed bool
	// Said is its output, Result its result, possibly the same. ExitCode and DurationMS belong to commands. All are nil
	// until known.
	Said, Result, ExitCode, DurationMS json.RawMessage
}

// IsTool reports whether items of a type are tool calls.
func IsTool(kind string) bool {
	switch kind {
	case ItemCommand, ItemFileChange, ItemToolCall:
		return true
	}
	return strings.HasSuffix(kind, "ToolCall") || strings.HasPrefix(kind, "web") || strings.HasPrefix(kind, "image")
}

// ReadCall reads the call of a tool in an item of a type that IsTool.
func ReadCall(kind string, item json.RawMessage) Call {
	given := Members(item, "id", "status", "server", "tool", "aggregatedOutput", "exitCode", "result", "error", "durationMs",
		"contentItems")
	c := Call{ID: Text(given[0]), Status: Text(given[1]), Server: Text(given[2]), Said: Known(given[4]),
		ExitCode: Known(given[5]), DurationMS: Known(given[8])}
	failure := Known(given[7])
	c.Name, c.Input = named(kind, item, c.Server, Text(given[3]))
	c.Failed = c.Status == StatusFailed || c.Status == StatusDeclined || failure != nil ||
		kind == ItemCommand && c.ExitCode != nil && string(c.ExitCode) != "0"
	switch {
	case kind == ItemCommand:
		c.Result = c.Said
	case failure != nil:
		c.Result = failure
	case kind == ItemClientTool:
		c.Result = Known(given[9])
	default:
		c.Result = Known(given[6])
	}
	return c
}

func named(kind string, item json.RawMessage, server, tool string) (name string, input json.RawMessage) {
	switch kind {
	case ItemCommand:
		return "runtime.command_execution", Pick(item, "command", "cwd")
	case ItemFileChange:
		return "runtime.file_change", Pick(item, "changes")
	case ItemToolCall, ItemClientTool:
		if kind == ItemClientTool {
			server = "client"
		}
		arguments := Known(Members(item, "arguments")[0])
		if arguments == nil {
			arguments = json.RawMessage("{}")
		}
		return server + "." + tool, arguments
	}
	return "runtime." + Snake(kind), Pick(item, "tool", "arguments", "query", "path", "prompt", "action")
}

// Pick is an object with the known members of another one that have a value.
func Pick(object json.RawMessage, names ...string) json.RawMessage {
	kept := map[string]json.RawMessage{}
	for i, value := range Members(object, names...) {
		if Known(value) != nil {
			kept[names[i]] = value
		}
	}
	return javascript.MustEncode(kept)
}

// Known is JSON with a value, nil for null and for nothing.
func Known(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// Snake writes a name in camel case with underscores.
func Snake(name string) string {
	var out strings.Builder
	for i, r := range name {
		if r >= 'A' && r <= 'Z' {
			if i > 0 {
				out.WriteByte('_')
			}
			r += 'a' - 'A'
		}
		out.WriteRune(r)
	}
	return out.String()
}
