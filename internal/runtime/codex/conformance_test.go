package codex_test

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/tests/codexschema"
	"harness/tests/codextest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// Every pinned codex, behind a shim, keeps the promises of each adapter.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, version := range codextest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			runtimetest.Run(t, target(version))
		})
	}
}

func target(version codextest.Version) runtimetest.Target {
	script := runtimetest.Script{
		Reply: func(text string) string { return "MOCK_REPLY[" + text + "]" }, Hold: func(name string) string {
			return "MOCK_HOLD[" + name + "]"
		},
		Fail:    func(status int) string { return fmt.Sprintf("MOCK_HTTP_%d", status) },
		Command: func(command string) string { return "MOCK_CMD[" + command + "]" },
		Flood:   func(deltas int) string { return fmt.Sprintf("MOCK_SLOW[%d,0]", deltas) },
	}
	var check func(testing.TB, []runtime.Signal)
	if version == codextest.Default {
		script.Ask = "MOCK_ASK"
		check = func(t testing.TB, signals []runtime.Signal) { codexschema.Signals(t, signals, version) }
	}
	return runtimetest.Target{
		Script: script, Check: check, Old: version == codextest.Oldest,
		New: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			return newSite(t, version, store).agent()
		},
		Proxied: func(t *testing.T, store *runtimetest.Store, proxy *runtimetest.Proxy) *runtimetest.Agent {
			s := newSite(t, version, store)
			s.options.Bin, proxy.Only = proxy.Program(t, s.options.Bin), `"method":"item/`
			return s.agent()
		},
		LoggedOut: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			agent := newSite(t, version, store).agent() // its model's server requires no login, the account does
			agent.NeedsLogin = func(ctx context.Context) error {
				_, err := agent.Adapter.(runtime.RawCaller).Call(ctx, "account/rateLimits/read", nil)
				return err
			}
			return agent
		},
		Hanging: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			s := newSite(t, version, store)
			s.options.Bin, s.options.Setup.Supervise.StartTimeout = runtimetest.Executable(t), 200*time.Millisecond
			s.options.Setup.Launch.Env = append(s.options.Setup.Launch.Env, fakeVariable+"=hang")
			return s.agent()
		},
		Missing: func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			s := newSite(t, version, store)
			s.options.Bin = filepath.Join(t.TempDir(), "codex")
			return s.agent()
		},
	}
}

// site is the place where servers drive codexes, one after another.
type site struct {
	t       *testing.T
	store   *runtimetest.Store
	model   *mockmodel.Server
	options codex.Options
	dir     string
}

func newSite(t *testing.T, version codextest.Version, store *runtimetest.Store) *site {
	t.Helper()
	s := &site{t: t, store: store, model: mockmodel.Start(t), dir: t.TempDir()}
	home := codextest.Home(t, s.model.URL(), codextest.For(version))
	s.options = codex.Options{
		Bin: codextest.Binary(t, version), Home: home, Setup: stdio.Setup{
			Launch: stdio.Launch{Marker: process.Marker(home, "codex"), Logger: logger(t), Env: []string{"HOME=" + home},
				Shims: runtimetest.Shims(t, runAsShim), Detach: true},
			Supervise: stdio.Options{Sink: store.Sink, Resume: store.Resume, BackoffMin: 10 * time.Millisecond,
				StartTimeout: patience},
		},
	}
	return s
}

func (s *site) agent() *runtimetest.Agent {
	s.t.Helper()
	options := s.options
	options.Setup.Supervise.KeepOnStop = true
	c := codex.New(options)
	start(s.t, c)
	return &runtimetest.Agent{
		Adapter: c, Dir: s.dir, Release: s.model.Release, Prompted: s.model.Asked, AwaitHeld: s.model.WaitHeld,
		Kill: func(t *testing.T, _ string) {
			if err := syscall.Kill(c.Status().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		Leave: func(t *testing.T) { stop(t, c) },
		Next:  func(*testing.T) *runtimetest.Agent { return s.agent() },
	}
}
