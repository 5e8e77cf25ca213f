package scripted_test

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/runtime/process"
	"harness/runtime/process/shim"
	"harness/runtime/runtimetest"
	"harness/runtime/runtimetest/scripted"
)

// The variable makes the test binary the agent, whose folder it names; the first argument makes it a shim, whose folder follows.
const (
	runAsAgent = "HARNESS_TEST_SCRIPTED_AGENT"
	runAsShim  = "test-shim"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == runAsShim {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if shim.Run(ctx, os.Args[2], os.NewFile(3, "ready")) != nil {
			os.Exit(1)
		}
		return
	}
	switch dir := os.Getenv(runAsAgent); dir {
	case "":
	case "hang":
		select {}
	default:
		os.Exit(scripted.Agent(os.Stdin, os.Stdout, dir))
	}
	goleak.VerifyTestMain(m)
}

// An agent that has nothing of codex keeps what every adapter promises, with and without a shim.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, shims := range map[string]bool{"behind shims": true, "as children": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runtimetest.Run(t, target(shims))
		})
	}
}

func target(shims bool) runtimetest.Target {
	start := func(bin func(*testing.T) string, agent string) func(*testing.T, *runtimetest.Store) *runtimetest.Agent {
		return func(t *testing.T, store *runtimetest.Store) *runtimetest.Agent {
			dir := t.TempDir()
			options := scripted.Options{Bin: bin(t), Env: []string{runAsAgent + "=" + dir}, Mark: process.Mark(dir, scripted.Name), Sink: store.Sink,
				Resume: store.Resume, Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)}
			if agent != "" {
				options.Env, options.StartTimeout = []string{runAsAgent + "=" + agent}, 200*time.Millisecond
			}
			if shims {
				options.Shims, options.KeepOnStop = runtimetest.Shims(t, runAsShim), true
			}
			return newAgent(t, options, dir)
		}
	}
	return runtimetest.Target{
		Script: runtimetest.Script{
			Reply: func(text string) string { return "REPLY[" + text + "]" }, Hold: func(name string) string { return "HOLD[" + name + "]" },
			Fail: "FAIL", Command: func(command string) string { return "RUN[" + command + "]" }, Ask: "ASK",
		},
		New: start(runtimetest.Executable, ""), Hanging: start(runtimetest.Executable, "hang"),
		Missing: start(func(t *testing.T) string { return filepath.Join(t.TempDir(), "agent") }, ""),
	}
}

func newAgent(t *testing.T, options scripted.Options, dir string) *runtimetest.Agent {
	r := scripted.New(options)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop := func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	t.Cleanup(func() { stop(t) })
	agent := &runtimetest.Agent{
		Adapter: r, Dir: dir,
		Release: func(name string) {
			if err := os.WriteFile(filepath.Join(dir, "free-"+name), nil, 0o600); err != nil {
				t.Error(err)
			}
		},
		AwaitHeld: func(ctx context.Context, name string) error {
			looks := time.NewTicker(2 * time.Millisecond)
			defer looks.Stop()
			for {
				if _, err := os.Stat(filepath.Join(dir, "held-"+name)); err == nil {
					return nil
				}
				select {
				case <-looks.C:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
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
	if options.Shims != nil {
		agent.Leave = stop
		agent.Next = func(t *testing.T) *runtimetest.Agent { return newAgent(t, options, dir) }
	}
	return agent
}
