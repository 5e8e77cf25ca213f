package scripted

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"harness/tests/runtimetest"
)

// The variable makes a test binary the agent; its value is the agent's folder. The first argument makes it a shim;
// the shim's folder follows.
const (
	runAsAgent = "HARNESS_TEST_SCRIPTED_AGENT"
	runAsShim  = "test-shim"
)

// Hanging is a Site.Dir of an agent that never answers.
const Hanging = "hang"

// Main is the TestMain of a test binary that uses the agent.
func Main(m *testing.M) {
	if !Play() {
		os.Exit(m.Run())
	}
}

// Play runs the scripted agent, its shim or its proxy if the test binary was called as one, and reports whether it
// did. TestMain starts with it.
func Play() bool {
	if runtimetest.PlayProxy() {
		return true
	}
	if runtimetest.PlayShim(runAsShim) {
		return true
	}
	switch dir := os.Getenv(runAsAgent); dir {
	case "":
		return false
	case Hanging:
		select {}
	default:
		os.Exit(Agent(os.Stdin, os.Stdout, dir))
	}
	return true
}

// Site is the folder of a test's scripted agent.
type Site struct {
	// Dir is the argument of Agent.
	Dir string
}

// Options returns the options of a test's adapter, without a sink. The agent is the test binary (Play).
func (s Site) Options(t *testing.T) Options {
	t.Helper()
	return Options{Bin: runtimetest.Executable(t), Env: []string{runAsAgent + "=" + s.Dir, TokenVariable + "=t"},
		Marker: Name + "-" + uuid.NewString(), StartTimeout: runtimetest.Patience,
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.WarnLevel)}
}

// Shims keeps the agents of a test running when its adapters stop.
func Shims(t *testing.T, options *Options) {
	t.Helper()
	options.Shims, options.KeepOnStop = runtimetest.Shims(t, runAsShim), true
}

// Release ends a HOLD of that name.
func (s Site) Release(name string) error {
	return os.WriteFile(filepath.Join(s.Dir, "free-"+name), nil, 0o600)
}

// AwaitHeld returns when a HOLD of that name is active.
func (s Site) AwaitHeld(ctx context.Context, name string) error {
	polls := time.Tick(2 * time.Millisecond)
	for {
		if _, err := os.Stat(filepath.Join(s.Dir, "held-"+name)); err == nil {
			return nil
		}
		select {
		case <-polls:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Begin starts an adapter. It ends with the test or with end.
func Begin(t *testing.T, options Options) (r *Runtime, end func(t *testing.T)) {
	t.Helper()
	r = New(options)
	if err := r.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	end = func(t *testing.T) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), runtimetest.Patience)
		defer cancel()
		if err := r.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	}
	t.Cleanup(func() { end(t) })
	return r, end
}

// Script returns texts with instructions for the agent; see play.
func Script() runtimetest.Script {
	word := func(name string) func(string) string {
		return func(inside string) string { return name + "[" + inside + "]" }
	}
	return runtimetest.Script{Reply: word("REPLY"), Hold: word("HOLD"), Command: word("RUN"), Ask: "ASK",
		Fail:  func(status int) string { return word("FAIL")(strconv.Itoa(status)) },
		Flood: func(deltas int) string { return word("FLOOD")(strconv.Itoa(deltas)) }}
}
