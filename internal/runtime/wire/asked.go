package wire

import (
	"encoding/json"

	"harness/internal/runtime"
)

// askedOf returns a request in neutral terms: its subject, its tool, and the action to decide.
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

// arguments returns an object with some members of params, nil when params has none of them or is too long.
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

// ChangedFiles returns the files in an item or in a request to change files, moved ones with both names; nil without
// names. more means that the request does more than change them.
func ChangedFiles(about json.RawMessage) (paths []string, more bool) {
	given := Members(about, "changes", "fileChanges", "grantRoot")
	changes, byPath, root := given[0], given[1], given[2]
	for change := range Elements(changes) {
		var one struct {
			Path string `json:"path"`
			Kind struct {
				MovePath string `json:"move_path"`
			} `json:"kind"`
		}
		if json.Unmarshal(change, &one) != nil || one.Path == "" {
			return nil, true // it changes something this function cannot read
		}
		paths = append(paths, one.Path)
		if one.Kind.MovePath != "" {
			paths = append(paths, one.Kind.MovePath)
		}
	}
	if len(byPath) > 0 && string(byPath) != "null" {
		return nil, true // an old form of codex with the files as member names
	}
	return paths, len(root) > 0 && string(root) != "null"
}
