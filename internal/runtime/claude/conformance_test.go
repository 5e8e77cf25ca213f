package claude_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"harness/tests/codexschema"
	"harness/tests/runtimetest"
)

// The real Claude Code keeps the promises of every adapter, with and without a shim.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, shims := range map[string]bool{"behind shims": true, "as children": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tried := target(shims)
			if !shims { // the source of the lines does not affect these
				tried.Proxied = nil
			}
			runtimetest.Run(t, tried)
		})
	}
}

func target(shims bool) runtimetest.Target {
	return runtimetest.Target{
		Check: codexschema.Published,
		Script: runtimetest.Script{
			Reply: func(text string) string { return "MOCK_REPLY[" + text + "]" }, Hold: func(name string) string {
				return "MOCK_HOLD[" + name + "]"
			},
			Fail:    func(status int) string { return fmt.Sprintf("MOCK_HTTP_%d", status) },
			Command: func(command string) string { return "MOCK_CMD[" + command + "]" }, Ask: "MOCK_ASK",
			AskSeveral: "MOCK_ASK_SEVERAL",
		},
		New: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			return newRig(t, store, shims).start(t)
		},
		Proxied: func(t *testing.T, store *runtimetest.Store, proxy *runtimetest.Proxy) *runtimetest.Agent {
			g := newRig(t, store, shims)
			g.bin, proxy.Only = proxy.Program(t, g.bin), `"content_block_delta"|"type":"assistant"`
			return g.start(t)
		},
		Hanging: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			g := newRig(t, store, shims)
			g.bin, g.setup.Supervise.StartTimeout = runtimetest.Executable(t), 200*time.Millisecond
			g.setup.Launch.Env = append(g.setup.Launch.Env, runUnresponsive+"=1")
			return g.start(t)
		},
		Missing: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			g := newRig(t, store, shims)
			g.bin = filepath.Join(t.TempDir(), "claude")
			return g.start(t)
		},
	}
}
