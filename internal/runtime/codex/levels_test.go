package codex_test

import (
	"testing"

	"harness/internal/runtime"
	"harness/tests/agenttest"
	"harness/tests/codextest"
	"harness/tests/runtimetest"
)

// Each level keeps its promise, on each pinned codex, with and without a bubblewrap on the PATH. codex tries to write
// inside and outside of its folder, with a command and with a patch. It also tries to reach the network. No user
// approves requests.
func TestLevelsAreEnforced(t *testing.T) {
	t.Parallel()
	type machine struct {
		codex codextest.Version
		path  string
	}
	machines := map[string]machine{
		// codex fails with an older bubblewrap on the PATH while its home is a temporary folder; it ships one.
		"with bubblewrap": {codextest.Default, agenttest.SandboxPath(t)},
	}
	for _, version := range codextest.Versions() {
		machines[string(version)] = machine{version, agenttest.PathWithout(t, "bwrap")}
	}
	for name, on := range machines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			version := on.codex
			store := runtimetest.NewStore()
			s := newSite(t, version, store)
			s.options.Setup.Launch.Env = append(s.options.Setup.Launch.Env, "PATH="+on.path)
			agent := s.agent()
			for _, test := range []struct {
				level, network string
				want           runtimetest.Reach
			}{
				{"read-only", "restricted", runtimetest.Reach{}},
				{"workspace-write", "restricted", runtimetest.Reach{Command: true, File: true}},
				{"workspace-write", "enabled", runtimetest.Reach{Command: true, File: true, Network: true}},
				{"danger-full-access", "enabled", runtimetest.Everything()},
				// This level promises nothing; the expected reach is codex's own.
				{"danger-full-access", "restricted", runtimetest.Everything()},
			} {
				t.Run(test.level+", "+test.network, func(t *testing.T) {
					t.Parallel()
					ground := runtimetest.NewGround(t, t.TempDir())
					levels := runtime.StartThread{Cwd: ground.Dir, ApprovalPolicy: "never", Sandbox: test.level,
						NetworkAccess: test.network}
					thread, err := agent.StartThread(t.Context(), levels)
					if err != nil {
						t.Fatal(err)
					}
					script := ground.Tries(target(version).Script.Command, func(file string) string {
						return "MOCK_PATCH[" + file + "]"
					})
					turn, err := agent.StartTurn(t.Context(), runtime.StartTurn{ThreadID: thread.ID, Input: runtimetest.Text(script),
						ApprovalPolicy: levels.ApprovalPolicy, Sandbox: levels.Sandbox, NetworkAccess: levels.NetworkAccess})
					if err != nil {
						t.Fatal(err)
					}
					end := store.End(t, turn.TurnID)
					if got := ground.Reached(); got != test.want || end.Status != runtime.TurnDone {
						t.Errorf("it could %+v, promised is %+v; the turn ended %+v, the model received %v", got, test.want, end,
							s.model.Outputs())
					}
				})
			}
		})
	}
}
