package stdio

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/runtime"
	"harness/internal/runtime/process"
	"harness/internal/runtime/process/shim"
)

const (
	// runAsShim and runAsAgent are the first arguments that make the test binary a shim (its folder follows) or an agent
	// (its mode follows).
	runAsShim  = "test-shim"
	runAsAgent = "test-agent"
)

// patience bounds every wait; the machine may be busy.
const patience = time.Minute

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == runAsShim {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if shim.Run(ctx, os.Args[2], os.NewFile(3, "ready")) != nil {
			os.Exit(1)
		}
		return
	}
	if len(os.Args) == 3 && os.Args[1] == runAsAgent {
		os.Exit(plainAgent(os.Args[2], os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

// runtimeKit is a runtime with agents that use the plain protocol, and a folder for shims.
type runtimeKit struct {
	t        *testing.T
	launch   Launch
	launcher *Launcher
}

func newRuntime(t *testing.T, mode string, detach bool) *runtimeKit {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &runtimeKit{t: t, launch: Launch{
		Name: "plain", Command: func() (string, []string, error) { return self, []string{runAsAgent, mode}, nil },
		Remedy: "check it", Marker: "plain-" + uuid.NewString(), Detach: detach,
		Logger: zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel),
		Shims:  &shim.Host{RunDir: filepath.Join(t.TempDir(), "run"), Command: []string{self, runAsShim}, Version: "test"},
	}}
	k.launcher = NewLauncher(k.launch)
	t.Cleanup(func() {
		for _, f := range NewLauncher(k.launch).Found() {
			if _, _, err := shim.Reap(context.Background(), f); err != nil {
				t.Error(err)
			}
		}
		if left, err := process.Marked(k.launch.Marker); len(left) > 0 || err != nil {
			t.Errorf("processes %v are left (%v)", left, err)
		}
	})
	return k
}

// again returns the runtime of the next server.
func (k *runtimeKit) again() *runtimeKit { return &runtimeKit{k.t, k.launch, NewLauncher(k.launch)} }

// agent is a started supervisor, with everything its sink received.
type agent struct {
	*Supervisor
	t       *testing.T
	mu      sync.Mutex
	batches []runtime.Batch
	came    chan struct{}
}

func (k *runtimeKit) agent(change func(*agent, *Options)) *agent {
	k.t.Helper()
	a := &agent{t: k.t, came: make(chan struct{})}
	options := Options{Speak: speakPlain, BackoffMin: 10 * time.Millisecond, Sink: func(batch runtime.Batch) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.batches = append(a.batches, batch)
		close(a.came)
		a.came = make(chan struct{})
		if batch.Stored != nil {
			batch.Stored()
		}
	}}
	if change != nil {
		change(a, &options)
	}
	a.Supervisor = NewSupervisor(k.launcher, options)
	k.t.Cleanup(a.stop)
	if err := a.Start(k.t.Context()); err != nil {
		k.t.Fatal(err)
	}
	return a
}

func (a *agent) stop() {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := a.Stop(ctx); err != nil {
		a.t.Error(err)
	}
}

func (a *agent) call(method, thread string) (string, error) {
	a.t.Helper()
	c, done, err := a.Use(a.t.Context())
	if err != nil {
		return "", err
	}
	defer done()
	result, err := c.Call(a.t.Context(), patience, method, thread)
	return string(result), err
}

func (a *agent) must(method, thread string) string {
	a.t.Helper()
	result, err := a.call(method, thread)
	if err != nil {
		a.t.Fatalf("%s: %v", method, err)
	}
	return result
}

// wait returns the first signal that matches, with its batch.
func (a *agent) wait(what string, match func(runtime.Signal) bool) (runtime.Signal, runtime.Batch) {
	a.t.Helper()
	deadline := time.After(patience)
	for {
		a.mu.Lock()
		batches, came := slices.Clone(a.batches), a.came
		a.mu.Unlock()
		for _, batch := range batches {
			if i := slices.IndexFunc(batch.Signals, match); i >= 0 {
				return batch.Signals[i], batch
			}
		}
		select {
		case <-came:
		case <-deadline:
			a.t.Fatalf("never: %s; came %+v", what, batches)
		}
	}
}

func (a *agent) waitMethod(method string) (runtime.Signal, runtime.Batch) {
	a.t.Helper()
	return a.wait(method, func(s runtime.Signal) bool { return s.Method == method })
}

func kind(kind runtime.SignalKind) func(runtime.Signal) bool {
	return func(s runtime.Signal) bool { return s.Kind == kind }
}
