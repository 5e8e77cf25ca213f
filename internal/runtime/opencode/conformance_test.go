package opencode_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode"
	"harness/tests/codexschema"
	"harness/tests/outside"
	"harness/tests/runtimetest"
)

func script() runtimetest.Script {
	return runtimetest.Script{
		Reply: func(text string) string { return "MOCK_REPLY[" + text + "]" }, Hold: func(name string) string {
			return "MOCK_HOLD[" + name + "]"
		},
		Fail:    func(status int) string { return fmt.Sprintf("MOCK_HTTP_%d", status) },
		Command: func(command string) string { return "MOCK_CMD[" + command + "]" }, Ask: "MOCK_ASK",
		AskSeveral: "MOCK_ASK_SEVERAL",
		Flood:      func(deltas int) string { return fmt.Sprintf("MOCK_SLOW[%d,0]", deltas) },
	}
}

// The real OpenCode, behind a shim, keeps the promises of each adapter. An OpenCode needs seconds to start and half a
// gigabyte, so the tests that do not end it share one.
func TestConformance(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "an agent") // not in a subtest: a shared OpenCode belongs to this test
	common := sync.OnceValue(func() *shared { return newShared(t) })
	runtimetest.Run(t, runtimetest.Target{
		Script: script(), Dear: true, Check: codexschema.Published,
		New: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			if runtimetest.Own(t) {
				return newSite(t, store.Sink, store.Resume).agent()
			}
			return common().view(t, store)
		},
		// The proxy is between the server and the bridge, which exchange lines.
		Proxied: func(t *testing.T, store *runtimetest.Store, proxy *runtimetest.Proxy) *runtimetest.Agent {
			s := newSite(t, store.Sink, store.Resume)
			proxy.Only = "message.part."
			s.options.Bridge = []string{proxy.Program(t, runtimetest.Executable(t)), runAsBridge}
			return s.agent()
		},
		Hanging: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			s := newSite(t, store.Sink, store.Resume)
			s.options.Bin = runtimetest.Executable(t)
			s.options.Supervise.StartTimeout, s.options.Supervise.KeepOnStop = 200*time.Millisecond, false
			return s.agent()
		},
		LoggedOut: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			s := newSite(t, store.Sink, store.Resume)
			key := runtime.ProviderKey{Key: "sk-" + uuid.NewString()} // for the provider of the configured model
			config := configuration(t, runtimetest.Locked(t, s.model.Root(), key.Key)+"/v1")
			s.options.Launch.Env = []string{"OPENCODE_CONFIG_CONTENT=" + strings.Replace(config, `"apiKey":"dummy",`, "", 1)}
			agent := s.agent()
			agent.PollsLate, agent.Key = true, key
			agent.Kill = nil // OpenCode reads the file again while it runs, too
			t.Cleanup(func() {
				file := filepath.Join(s.options.Home.Dir, "data", opencode.Name, "auth.json")
				content, err := os.ReadFile(file)
				if err != nil || !strings.Contains(string(content), key.Key) {
					t.Errorf("what is said to be stored is not: %s, %v", content, err)
				}
				if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
					t.Errorf("the key is for others to read: %v, %v", info, err)
				}
			})
			return agent
		},
		Missing: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			s := newSite(t, store.Sink, store.Resume)
			s.options.Bin = filepath.Join(t.TempDir(), opencode.Name)
			return s.agent()
		},
	})
}
