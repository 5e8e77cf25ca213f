package acp

import (
	"os"
	"path/filepath"
	"testing"

	"harness/internal/runtime"
)

// Data that Claude Code writes about its own runs is no change of a source; an MCP server is.
func TestOnlySettingsOfClaudesStateCount(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), stateOfClaude)
	of := func(content string) string {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		found := settingsOfState([]runtime.Source{{Path: path, Scope: runtime.SourceOfHome, SHA256: "all of it"}}, "/work")
		if len(found) == 0 {
			return ""
		}
		return found[0].SHA256
	}
	for _, state := range []string{`{}`, `{"numStartups":1}`, `{"projects":{"/work":{"mcpServers":{},"lastCost":2}}}`,
		`{"projects":{"/other":{"mcpServers":{"x":{}}}}}`} {
		if hash := of(state); hash != "" {
			t.Errorf("%s is a source with the hash %s", state, hash)
		}
	}
	one := of(`{"numStartups":1,"mcpServers":{"x":{"command":"y"}}}`)
	if later := of(`{"numStartups":2,"mcpServers":{"x":{"command":"y"}}}`); one == "" || later != one {
		t.Errorf("the hash of the same servers is %q, and then %q", one, later)
	}
	for _, changed := range []string{`{"mcpServers":{"x":{"command":"z"}}}`, `not JSON`,
		`{"mcpServers":{"x":{"command":"y"}},"projects":{"/work":{"allowedTools":["Bash"]}}}`} {
		if hash := of(changed); hash == "" || hash == one {
			t.Errorf("%s has the hash %q", changed, hash)
		}
	}
}
