package wire

import (
	"encoding/json"

	"harness/runtime"
)

// askedOf is a request in neutral words: what it is about, the tool, and what a person decides about.
func askedOf(method string, params json.RawMessage) runtime.Asked {
	given := Members(params, "networkApprovalContext", "serverName", "tool", "arguments")
	network, server, tool, called := given[0], given[1], given[2], given[3]
	a := runtime.Asked{Subject: Lookup(method).Subject}
	switch method {
	case MethodApproveCommand:
		a.Tool, a.Arguments = "shell", arguments(params, "command", "cwd")
		if len(network) > 0 && string(network) != "null" {
			a.Subject, a.Tool, a.Arguments = runtime.SubjectNetwork, "", network
		}
	case MethodApproveFileChange:
		a.Arguments = arguments(params, "fileChanges", "changes", "grantRoot")
	case MethodApprovePermissions:
		a.Arguments = arguments(params, "permissions")
	case MethodElicit:
		a.Tool = Line(server)
	case MethodApproveTool, MethodCallTool:
		a.Tool, a.Arguments = Line(tool), called
	}
	if len(a.Arguments) > runtime.LongItem {
		a.Arguments = nil
	}
	return a
}

// arguments are some members of params as an object, nil when it has none of them, or too much.
func arguments(params json.RawMessage, names ...string) json.RawMessage {
	kept, size := map[string]json.RawMessage{}, 0
	for i, value := range Members(params, names...) {
		if len(value) > 0 && string(value) != "null" {
			kept[names[i]] = value
			size += len(value)
		}
	}
	if len(kept) == 0 || size > runtime.LongItem {
		return nil
	}
	return encode(kept)
}
