package process_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"harness/extensions"
	"harness/extensions/process"
	runtimeprocess "harness/runtime/process"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patient is more than anything here takes, also with the race detector and busy neighbours.
const patient = 30 * time.Second

func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// site is a host with its folder.
type site struct {
	*process.Host
	dir string
}

func newSite(t testing.TB, change func(*process.Options)) site {
	t.Helper()
	s := site{dir: filepath.Join(t.TempDir(), "children")}
	o := process.Options{Dir: s.dir, Logger: zerolog.Nop()}
	if change != nil {
		change(&o)
	}
	var err error
	if s.Host, err = process.New(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	return s
}

// marks are the marks of the children that should exist now.
func (s site) marks(t testing.TB) []string {
	t.Helper()
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, entry := range entries {
		out = append(out, entry.Name())
	}
	return out
}

func nodeSource(t testing.TB, code string) extensions.Source {
	t.Helper()
	dir := write(t, map[string]string{"events.mjs": code})
	return extensions.Source{
		ModuleName: "probe", Name: "@test/probe", Version: "1.0.0", AgentID: "probe", Root: dir, SourceRoot: dir,
		Entrypoint: filepath.Join(dir, "events.mjs"), Trust: extensions.TrustWarn,
		Runtime: extensions.RuntimeWish{Host: "node"},
	}
}

// shellSource is an extension that is a shell script: the cheapest way to a child that misbehaves.
func shellSource(t testing.TB, script string) extensions.Source {
	t.Helper()
	dir := write(t, map[string]string{"events.sh": script})
	return extensions.Source{
		ModuleName: "probe", Name: "@test/probe", Root: dir, SourceRoot: dir, Entrypoint: filepath.Join(dir, "events.sh"),
		Trust: extensions.TrustWarn, Runtime: extensions.RuntimeWish{Host: "process", Command: []string{"sh", "events.sh"}},
	}
}

func load(t testing.TB, host extensions.Host, source extensions.Source) extensions.Module {
	t.Helper()
	module, err := host.Load(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, module) })
	return module
}

func shut(t testing.TB, module extensions.Module) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	if err := module.Close(ctx); err != nil {
		t.Error(err)
	}
}

func handlers(bodies ...string) string {
	code := "export function registerAgentEvents(registry) {\n"
	for _, body := range bodies {
		code += "registry.on(\"e\", " + body + ");\n"
	}
	return code + "}\n"
}

func event(payload string) *extensions.Event {
	return &extensions.Event{Type: "e", Payload: json.RawMessage(payload)}
}

func handle(t testing.TB, module extensions.Module, number int, with *tools) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patient)
	defer cancel()
	out, err := module.Handle(ctx, number, event(`{"n":1}`), with)
	return string(out), err
}

// answers checks that a well-behaved handler works, if need be after the next start.
func answers(t *testing.T, module extensions.Module, number int) {
	t.Helper()
	if got, err := handle(t, module, number, &tools{}); err != nil || got != `"fine"` {
		t.Errorf("the next event is answered with %s, %v", got, err)
	}
}

// slack is how much later than its timeout a handler may be answered. Promised are 50 ms on a machine that is not
// overloaded.
const slack = slowness * 600 * time.Millisecond

// cut runs a handler that has to be cut and checks that the answer comes in time.
func cut(t *testing.T, module extensions.Module, number int, timeout time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	start := time.Now()
	out, err := module.Handle(ctx, number, event(`{}`), &tools{})
	if took := time.Since(start); took > timeout+slack {
		t.Errorf("handler %d was answered after %s", number, took)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("handler %d: %s, %v", number, out, err)
	}
}

// waitFor looks until a condition holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(patient)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("%s did not come", what)
		}
	}
}

// nothingLeft checks that no process of the marks lives.
func nothingLeft(t *testing.T, marks ...string) {
	t.Helper()
	for _, mark := range marks {
		left, err := runtimeprocess.Marked(mark)
		if err != nil || len(left) > 0 {
			t.Errorf("%s: %v, %v", mark, left, err)
		}
	}
}

// tools is a server's side that records.
type tools struct {
	mu       sync.Mutex
	enqueued []string
	logged   []string
	settings bool
}

func (f *tools) EnqueueJob(_ context.Context, input json.RawMessage) (json.RawMessage, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enqueued = append(f.enqueued, string(input))
	return json.RawMessage(`{"status":"enqueued","job":{"id":"j1"}}`), nil
}

func (f *tools) HasSettings() bool { return f.settings }

func (f *tools) GetSessionSettings(_ context.Context, id string) (json.RawMessage, error) {
	if id == "missing" {
		return nil, errors.New("no such session")
	}
	return json.RawMessage(fmt.Sprintf(`{"of":%q}`, id)), nil
}

func (f *tools) GetSessionSetting(_ context.Context, id, key string) (json.RawMessage, error) {
	if key == "none" {
		return nil, nil
	}
	return json.RawMessage(fmt.Sprintf("%q", id+"/"+key)), nil
}

func (f *tools) Log(level string, fields json.RawMessage, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logged = append(f.logged, level+" "+string(fields)+" "+message)
}

func (f *tools) count() (enqueued, logged int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.enqueued), len(f.logged)
}
