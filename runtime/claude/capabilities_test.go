package claude

import (
	"context"
	"testing"

	"harness/runtime"
	"harness/runtime/stdio"
)

// access offers the tools of a server that has some.
type access struct{}

func (access) Of(string) runtime.ToolServer { return runtime.ToolServer{} }

func (access) Unnamed() (runtime.ToolServer, func(context.Context, string) error) {
	return runtime.ToolServer{}, nil
}

// How Claude Code reaches tools of this server is told, and that it reaches none where there are none.
func TestHowItReachesOwnedTools(t *testing.T) {
	t.Parallel()
	for want, setup := range map[string]stdio.Setup{runtime.OwnedNone: {}, runtime.OwnedMCP: {Tools: access{}}} {
		if got := New("claude", setup).Capabilities().OwnedTools; got != want {
			t.Errorf("it reaches them by %s, want %s", got, want)
		}
	}
}
