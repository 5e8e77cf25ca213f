package claude

import (
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/stdio"
)

// The capabilities report how Claude Code reaches this server's tools, and that there are none without a server.
func TestOwnedToolsAreReachable(t *testing.T) {
	t.Parallel()
	for want, setup := range map[string]stdio.Setup{runtime.OwnedNone: {}, runtime.OwnedMCP: {Tools: "harness"}} {
		if got := New("claude", setup).Capabilities().OwnedTools; got != want {
			t.Errorf("it reaches them by %s, want %s", got, want)
		}
	}
}
