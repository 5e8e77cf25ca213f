package claude_test

import (
	"context"
	"os"
	"syscall"
	"testing"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/runtime/claude"
	"harness/internal/runtime/environment"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/tests/agenttest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// The first argument makes the test binary a shim; the shim's folder follows. The variable makes it an agent without
// output.
const (
	runAsShim       = "test-shim"
	runUnresponsive = "HARNESS_TEST_SILENT_AGENT"
)

func TestMain(m *testing.M) {
	if runtimetest.PlayProxy() || runtimetest.PlayShim(runAsShim) {
		return
	}
	if os.Getenv(runUnresponsive) != "" {
		select {}
	}
	goleak.VerifyTestMain(m)
}

// rig has the settings of a Claude Code under test.
type rig struct {
	model *mockmodel.Server
	dir   string // its working folder
	bin   string
	setup stdio.Setup
}

func newRig(t *testing.T, store *runtimetest.Store, shims bool) *rig {
	t.Helper()
	g := &rig{model: mockmodel.Start(t), dir: t.TempDir(), bin: agenttest.Binary(t, "claude")}
	home := environment.Home{Level: environment.LevelNamespaced, Dir: t.TempDir()}
	g.setup = stdio.Setup{
		Launch: stdio.Launch{
			Name: claude.Name, Marker: process.Marker(g.dir, claude.Name), Inherits: func(name string) bool {
				return name == "PATH"
			},
			Env:    append(home.Env(), "ANTHROPIC_API_KEY=sk-ant-test", "ANTHROPIC_BASE_URL="+g.model.Root()),
			Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.FatalLevel),
		},
		Supervise: stdio.Options{Sink: store.Sink, Resume: store.Resume, StartTimeout: runtimetest.Patience},
		Home:      home,
	}
	if shims {
		g.setup.Launch.Shims, g.setup.Launch.Detach, g.setup.Supervise.KeepOnStop = runtimetest.Shims(t,
			runAsShim), true, true
	}
	return g
}

func (g *rig) start(t *testing.T) *runtimetest.Agent {
	t.Helper()
	r := claude.New(g.bin, g.setup)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), runtimetest.Patience)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	t.Cleanup(func() { stop(t) })
	agent := &runtimetest.Agent{
		Adapter: r, Dir: g.dir, Release: g.model.Release, Prompted: g.model.Asked, AwaitHeld: g.model.WaitHeld,
		Kill: func(t *testing.T, threadID string) {
			for _, one := range r.Status().Processes {
				if one.Serves == threadID {
					if err := syscall.Kill(one.PID, syscall.SIGKILL); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
	}
	if g.setup.Launch.Shims != nil {
		agent.Leave = stop
		agent.Next = g.start
	}
	return agent
}
