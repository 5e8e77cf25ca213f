package codex_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/tests/codextest"
	"harness/tests/mcptest"
	"harness/tests/mockmodel"
	"harness/tests/runtimetest"
)

// runAsMCP makes the test binary the MCP server that codex starts.
const runAsMCP = "HARNESS_TEST_RUN_AS_MCP"

func TestMain(m *testing.M) {
	if runtimetest.PlayProxy() {
		return
	}
	if os.Getenv(runAsMCP) != "" {
		if err := mcptest.Serve(os.Stdin, os.Stdout); err != nil {
			panic(err)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == runAsShim {
		os.Exit(runShim(os.Args[2]))
	}
	if dir, is := os.LookupEnv(runAsReader); is {
		if err := readLongLine(dir); err != nil {
			panic(err)
		}
		return
	}
	if mode := os.Getenv(fakeVariable); mode != "" {
		os.Exit(fakeCodex(mode))
	}
	goleak.VerifyTestMain(m)
}

// runAsReader makes the test binary a server that reads one long line and reports its cost; its value is a folder for
// shims, "" for none.
const runAsReader = "HARNESS_TEST_RUN_AS_READER"

// patience bounds every wait; the machine may be busy.
const patience = runtimetest.Patience

// recorder is a sink that stores everything and lets tests wait for it.
type recorder struct {
	mu      sync.Mutex
	signals []runtime.Signal
	offsets []int64  // of the batches of signals
	stored  []func() // their Stored callbacks
	changed chan struct{}
	// block, when set, blocks the sink until it is closed.
	block chan struct{}
}

func newRecorder() *recorder { return &recorder{changed: make(chan struct{})} }

func (r *recorder) sink(batch runtime.Batch) {
	if r.block != nil {
		<-r.block
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range batch.Signals {
		r.signals, r.offsets, r.stored = append(r.signals, s), append(r.offsets, batch.Offset), append(r.stored, batch.Stored)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) all() []runtime.Signal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]runtime.Signal(nil), r.signals...)
}

// batchOf returns the offset and the Stored callback of the batch with a signal; the test has waited for the signal.
func (r *recorder) batchOf(match func(runtime.Signal) bool) (offset int64, stored func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.IndexFunc(r.signals, match)
	return r.offsets[i], r.stored[i]
}

// wait returns the first signal that matches, as soon as there is one.
func (r *recorder) wait(t *testing.T, what string, match func(runtime.Signal) bool) runtime.Signal {
	t.Helper()
	deadline := time.After(patience)
	next := 0
	for {
		r.mu.Lock()
		fresh, changed := r.signals[next:], r.changed
		next = len(r.signals)
		r.mu.Unlock()
		for _, s := range fresh {
			if match(s) {
				return s
			}
		}
		select {
		case <-changed:
		case <-deadline:
			all := r.all()
			for _, s := range all[max(0, len(all)-40):] {
				t.Logf("signal %s %s %s", s.Kind, s.Method, short(s.Raw))
			}
			t.Fatalf("no signal: %s", what)
		}
	}
}

func short(raw []byte) string {
	if len(raw) > 300 {
		return string(raw[:300]) + "..."
	}
	return string(raw)
}

func (r *recorder) completed(t *testing.T, turnID string) runtime.TurnCompleted {
	t.Helper()
	s := r.wait(t, "completion of turn "+turnID, func(s runtime.Signal) bool {
		done, ok := s.Change.(runtime.TurnCompleted)
		return ok && done.TurnID == turnID
	})
	return s.Change.(runtime.TurnCompleted)
}

func (r *recorder) requested(t *testing.T, threadID string) runtime.Signal {
	t.Helper()
	return r.wait(t, "an interactive request", func(s runtime.Signal) bool {
		_, ok := s.Change.(runtime.InteractiveRequested)
		return ok && s.ThreadID == threadID
	})
}

// item waits for the completion of an item of the type in the turn.
func (r *recorder) item(t *testing.T, turnID, kind string) runtime.Item {
	t.Helper()
	s := r.wait(t, "item "+kind, func(s runtime.Signal) bool {
		item, ok := s.Change.(runtime.ItemChanged)
		return ok && item.Done && item.TurnID == turnID && item.Item.Type == kind
	})
	return s.Change.(runtime.ItemChanged).Item
}

// bundle is a real codex with a mock model.
type bundle struct {
	*recorder
	version codextest.Version
	model   *mockmodel.Server
	codex   *codex.Codex
	mark    string
	home    string
	cwd     string
}

func setup(t *testing.T, version codextest.Version, options ...codextest.Option) *bundle {
	t.Helper()
	return setupWith(t, version, nil, options...)
}

// setupWith is setup with other options of the adapter.
func setupWith(t *testing.T, version codextest.Version, change func(*codex.Options),
	options ...codextest.Option) *bundle {
	t.Helper()
	b := &bundle{recorder: newRecorder(), version: version, model: mockmodel.Start(t), cwd: t.TempDir()}
	b.home = codextest.Home(t, b.model.URL(), append([]codextest.Option{codextest.For(version)}, options...)...)
	b.mark = process.Marker(b.home, "codex")
	own := codex.Options{
		Bin: codextest.Binary(t, version), Home: b.home, Setup: stdio.Setup{
			Launch:    stdio.Launch{Marker: b.mark, Logger: logger(t), Env: []string{"HOME=" + b.home}},
			Supervise: stdio.Options{Sink: b.sink, BackoffMin: 10 * time.Millisecond, StartTimeout: patience},
		},
	}
	if change != nil {
		change(&own)
	}
	b.codex = codex.New(own)
	start(t, b.codex)
	return b
}

// logger shows codex's stderr when a test fails. The adapter stops before the test ends, so there are no later log
// lines.
func logger(t *testing.T) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.InfoLevel)
}

func start(t *testing.T, c *codex.Codex) {
	t.Helper()
	t.Cleanup(func() { stop(t, c) })
	if err := c.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func stop(t *testing.T, c *codex.Codex) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := c.Stop(ctx); err != nil {
		t.Errorf("stop: %v", err)
	}
}

// onEach runs a test on every pinned codex version.
func onEach(t *testing.T, test func(*testing.T, codextest.Version)) {
	t.Parallel()
	for _, version := range codextest.Versions() {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			test(t, version)
		})
	}
}

func (b *bundle) thread(t *testing.T, in runtime.StartThread) string {
	t.Helper()
	if in.Cwd == "" {
		in.Cwd = b.cwd
	}
	if in.ApprovalPolicy == "" {
		in.ApprovalPolicy = "untrusted"
	}
	thread, err := b.codex.StartThread(t.Context(), in)
	if err != nil {
		t.Fatalf("start thread: %v", err)
	}
	return thread.ID
}

func (b *bundle) turn(t *testing.T, in runtime.StartTurn, said string) string {
	t.Helper()
	in.Input = text(said)
	started, err := b.codex.StartTurn(t.Context(), in)
	if err != nil {
		t.Fatalf("start turn: %v", err)
	}
	return started.TurnID
}

func (b *bundle) answer(t *testing.T, s runtime.Signal, reply runtime.Reply) {
	t.Helper()
	if err := b.codex.Answer(t.Context(), ref(s), reply); err != nil {
		t.Fatalf("answer: %v", err)
	}
}

func ref(s runtime.Signal) runtime.RequestRef {
	r := runtime.RequestRef{Generation: s.Generation, RequestID: s.RequestID, Method: s.Method,
		ThreadID: s.ThreadID, TurnID: s.TurnID, Params: s.Params}
	if change, ok := s.Change.(runtime.InteractiveRequested); ok {
		r.Kind, r.Asked = change.Kind, change.Asked
	}
	return r
}

func (b *bundle) output(t *testing.T, part string) mockmodel.Output {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := b.model.WaitOutput(ctx, func(o mockmodel.Output) bool { return strings.Contains(o.Text, part) })
	if err != nil {
		t.Fatalf("the model never saw %q: %v; it saw %q", part, err, b.model.Outputs())
	}
	return out
}

func text(said string) []json.RawMessage {
	raw, err := json.Marshal(map[string]any{"type": "text", "text": said, "text_elements": []any{}})
	if err != nil {
		panic(err)
	}
	return []json.RawMessage{raw}
}
