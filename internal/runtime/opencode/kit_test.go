package opencode_test

import (
	"context"
	"encoding/json"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/runtime"
	"harness/internal/runtime/environment"
	"harness/internal/runtime/opencode"
	"harness/internal/runtime/opencode/bridge"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
	"harness/internal/runtime/stdio"
	"harness/tests/agenttest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// Roles of the test binary, by its first argument: a shim or the bridge. With OpenCode's command line it is a proxy
// of the real OpenCode in proxyVariable. Without that variable it is an OpenCode without output.
const (
	runAsShim     = "test-shim"
	runAsBridge   = "test-bridge"
	runAsOpenCode = "serve"
	proxyVariable = "HARNESS_TEST_OPENCODE"
	lateVariable  = "HARNESS_TEST_OPENCODE_LATE"
)

// patience bounds every wait; only a fault uses it up.
const patience = runtimetest.Patience

func TestMain(m *testing.M) {
	if runtimetest.PlayProxy() {
		return
	}
	if len(os.Args) > 1 {
		if role := roles()[os.Args[1]]; role != nil {
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			os.Exit(role(ctx))
		}
	}
	goleak.VerifyTestMain(m)
}

// roles returns the roles of the test binary besides the tests.
func roles() map[string]func(context.Context) int {
	worked := func(err error) int {
		if err != nil {
			return 1
		}
		return 0
	}
	return map[string]func(context.Context) int{
		runAsShim: func(ctx context.Context) int { return worked(shim.Run(ctx, os.Args[2], os.NewFile(3, "ready"))) },
		runAsBridge: func(ctx context.Context) int {
			return worked(bridge.Run(ctx, os.Args[2], os.Stdin, os.Stdout, os.Stderr))
		},
		runAsEnding: func(context.Context) int { return endWithMessage() },
		runAsOpenCode: func(ctx context.Context) int {
			if real := os.Getenv(proxyVariable); real != "" {
				return proxied(ctx, append([]string{real}, os.Args[1:]...))
			}
			<-ctx.Done()
			return 1
		},
	}
}

// site is the place where servers drive OpenCodes, one after another.
type site struct {
	t       testing.TB
	model   *mockmodel.Server
	options opencode.Options
	dir     string
}

func newSite(t *testing.T, sink runtime.Sink, resume func(context.Context, string) (runtime.Resumption, error)) *site {
	t.Helper()
	s := &site{t: t, model: mockmodel.Start(t), dir: folder(t)}
	home, err := environment.Homes{Dir: t.TempDir()}.Of(environment.LevelNamespaced, opencode.Name, "test", "")
	if err != nil {
		t.Fatal(err)
	}
	s.options = opencode.Options{
		Bin: agenttest.Binary(t, opencode.Name), Bridge: []string{runtimetest.Executable(t), runAsBridge}, Dir: s.dir,
		Setup: stdio.Setup{
			Home: home,
			Launch: stdio.Launch{
				Name: opencode.Name, Marker: process.Marker(home.Dir, opencode.Name),
				Inherits: environment.Policy{}.Inherits(opencode.Name),
				Env:      []string{"OPENCODE_CONFIG_CONTENT=" + configuration(t, s.model.URL())},
				Shims:    runtimetest.Shims(t, runAsShim), Detach: true,
				Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel),
			},
			Supervise: stdio.Options{Sink: sink, Resume: resume, BackoffMin: 10 * time.Millisecond, StartTimeout: patience,
				KeepOnStop: true},
		},
	}
	return s
}

// folder returns a working folder, by its real name.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// configuration has the scripted model as OpenCode's only one.
func configuration(t testing.TB, url string) string {
	t.Helper()
	type object = map[string]any
	raw, err := json.Marshal(object{"enabled_providers": []string{"mock"}, "model": "mock/m", "small_model": "mock/m",
		"provider": object{"mock": object{"name": "Mock", "npm": "@ai-sdk/openai-compatible",
			"options": object{"apiKey": "dummy", "baseURL": url},
			"models": object{"m": object{"name": "M", "tool_call": true, "attachment": true,
				"limit":      object{"context": 100_000, "output": 8000},
				"modalities": object{"input": []string{"text", "image"}, "output": []string{"text"}}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func (s *site) start() *opencode.OpenCode {
	s.t.Helper()
	o := opencode.New(s.options)
	if err := o.Start(context.Background()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { stop(s.t, o) })
	return o
}

func stop(t testing.TB, o *opencode.OpenCode) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := o.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

func (s *site) agent() *runtimetest.Agent {
	s.t.Helper()
	o := s.start()
	return &runtimetest.Agent{
		Adapter: o, Dir: s.dir, Release: s.model.Release, Prompted: s.model.Asked, AwaitHeld: s.model.WaitHeld,
		Kill: func(t *testing.T, _ string) {
			if err := syscall.Kill(o.Status().PID, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		},
		Leave: func(t *testing.T) { stop(t, o) },
		Next:  func(*testing.T) *runtimetest.Agent { return s.agent() },
	}
}

// shared is one OpenCode for several tests: each gets the events of the conversations it opened.
type shared struct {
	*site
	*opencode.OpenCode
	mu     sync.Mutex
	stores map[string]*runtimetest.Store
}

func newShared(t *testing.T) *shared {
	t.Helper()
	s := &shared{stores: map[string]*runtimetest.Store{}}
	s.site = newSite(t, s.sink, func(context.Context, string) (runtime.Resumption, error) {
		return runtime.Resumption{}, nil
	})
	s.options.Supervise.KeepOnStop = false
	s.OpenCode = s.start()
	return s
}

func (s *shared) sink(batch runtime.Batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, signal := range batch.Signals {
		if store := s.stores[signal.ThreadID]; store != nil {
			store.Sink(batch)
			return
		}
	}
}

// view returns the shared OpenCode for one test.
func (s *shared) view(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
	t.Helper()
	return &runtimetest.Agent{Adapter: &seen{s.OpenCode, s, store}, Dir: folder(t), Release: s.model.Release, Prompted: s.model.Asked,
		AwaitHeld: s.model.WaitHeld}
}

type seen struct {
	*opencode.OpenCode
	shared *shared
	store  *runtimetest.Store
}

func (s *seen) StartThread(ctx context.Context, in runtime.StartThread) (runtime.Thread, error) {
	in.SessionID = uuid.NewString()
	s.shared.mu.Lock()
	s.shared.stores[in.SessionID] = s.store
	s.shared.mu.Unlock()
	return s.OpenCode.StartThread(ctx, in)
}
