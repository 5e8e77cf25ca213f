package wire

import (
	"encoding/json"

	"harness/runtime"
)

// askedOf is a request in neutral words: what it is about, the tool, and what a person decides about.
func askedOf(method string, params json.RawMessage) runtime.Asked {
	var p struct {
		Network   json.RawMessage `json:"networkApprovalContext"`
		Server    string          `json:"serverName"`
		Tool      string          `json:"tool"`
		Arguments json.RawMessage `json:"arguments"`
	}
	_ = json.Unmarshal(params, &p) // members of another type than expected are skipped
	a := runtime.Asked{Subject: Lookup(method).Subject}
	switch method {
	case MethodApproveCommand:
		a.Tool, a.Arguments = "shell", arguments(params, "command", "cwd")
		if len(p.Network) > 0 && string(p.Network) != "null" {
			a.Subject, a.Tool, a.Arguments = runtime.SubjectNetwork, "", p.Network
		}
	case MethodApproveFileChange:
		a.Arguments = arguments(params, "fileChanges", "changes", "grantRoot")
	case MethodApprovePermissions:
		a.Arguments = arguments(params, "permissions")
	case MethodElicit:
		a.Tool = Clean(p.Server)
	case MethodApproveTool, MethodCallTool:
		a.Tool, a.Arguments = Clean(p.Tool), p.Arguments
	}
	return a
}

// arguments are some members of params as an object, nil when it has none of them.
func arguments(params json.RawMessage, names ...string) json.RawMessage {
	var given map[string]json.RawMessage
	_ = json.Unmarshal(params, &given)
	kept := map[string]json.RawMessage{}
	for _, name := range names {
		if value, ok := given[name]; ok && string(value) != "null" {
			kept[name] = value
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return encode(kept)
}
