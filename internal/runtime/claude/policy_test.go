package claude

import (
	"encoding/json"
	"testing"
)

// The policy of each level, for tools of each kind.
func TestPolicy(t *testing.T) {
	t.Parallel()
	allowed := state{Allowed: []rule{{toolShell, "make test"}, {"Edit", "/w/a"}, {Tool: "WebFetch"}}}
	for _, test := range []struct {
		controls controls
		tool     string
		input    string
		want     string
	}{
		{controls{}, "Read", `{}`, ""},
		{controls{}, "Bash", `{"command":"ls"}`, "deny"},
		{controls{Approval: never}, "Write", `{}`, "deny"},
		{controls{}, "SomethingNew", `{}`, "deny"},
		{controls{}, "", ``, "deny"},
		{controls{}, "mcp__any__tool", `{}`, "deny"},
		{controls{}, "Bash", `{"command":"make test"}`, "deny"}, // allowed before the session became read-only
		{controls{}, "Agent", `{}`, ""},
		{controls{}, "Agent", `{"isolation":"worktree"}`, "deny"},
		{controls{Network: restricted}, "WebFetch", `{}`, "deny"},
		{controls{Network: enabled}, "WebFetch", `{}`, "allow"},
		{controls{Network: enabled}, "WebSearch", `{}`, "ask"},
		{controls{Sandbox: workspaceWrite}, "Bash", `{"command":"ls"}`, "ask"},
		{controls{Sandbox: workspaceWrite, Approval: onRequest}, "Bash", `{"command":"ls"}`, ""},
		{controls{Sandbox: workspaceWrite, Approval: onRequest}, "WebSearch", `{}`, "ask"},
		{controls{Sandbox: workspaceWrite, Approval: never}, "WebSearch", `{}`, "deny"},
		{controls{Sandbox: workspaceWrite, Approval: never}, "Bash", `{}`, ""},
		{controls{Sandbox: fullAccess}, "Bash", `{"command":"make test"}`, "allow"},
		{controls{Sandbox: fullAccess}, "Bash", `{"command":"make test; rm x"}`, "ask"},
		{controls{Sandbox: fullAccess}, "Write", `{"file_path":"/w/a"}`, "allow"},
		{controls{Sandbox: fullAccess}, "Write", `{"file_path":"/w/b"}`, "ask"},
		{controls{Sandbox: fullAccess, Approval: onFailure, Network: enabled}, "WebSearch", `{}`, ""},
		{controls{Sandbox: "whatever"}, "Bash", `{}`, "deny"},
		{controls{Sandbox: fullAccess, Approval: "whatever"}, "Bash", `{}`, "ask"},
	} {
		if got := test.controls.decide(&allowed, test.tool, json.RawMessage(test.input)); got.Permission != test.want {
			t.Errorf("%+v: %s %s is %q, want %q", test.controls, test.tool, test.input, got.Permission, test.want)
		}
	}
}
