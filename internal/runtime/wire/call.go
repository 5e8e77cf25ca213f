package wire

import (
	"encoding/json"
	"strings"

	"harness/internal/lib/javascript"
)

// Call is a tool call, read from its item.
type Call struct {
	// ID is the runtime's id. Server owns the tool ("" for a runtime's tool without a server).
	ID, Server string
	// Name is the tool's name, the same for all runtimes. Input is its input.
	Name  string
	Input json.RawMessage
	// Status is a status of items. For an ended call, Failed means that it was not successful.
	Status string
	Failed bool
	// Said is its output, Result its result, possibly the same. Only commands have ExitCode and DurationMS. All are
	// nil until known.
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

// ReadCall reads the tool call in an item with a type for which IsTool is true.
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

// Pick returns an object with the named members of another one that have a value.
func Pick(object json.RawMessage, names ...string) json.RawMessage {
	kept := map[string]json.RawMessage{}
	for i, value := range Members(object, names...) {
		if Known(value) != nil {
			kept[names[i]] = value
		}
	}
	return javascript.MustEncode(kept)
}

// Known returns JSON with a value, nil for null and for no value.
func Known(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// Snake converts a name from camel case to snake case.
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
