// Package extensionstest is shared by tests of extension hosts. It has extensions in files, handler calls with a long
// timeout, and a fake of the server's side that records its calls.
package extensionstest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"harness/extensions"
	"harness/tests/polling"
)

// Patience is longer than any operation takes, even with the race detector and other load.
const Patience = time.Minute

// Write writes files into a folder of the test and returns its path with links resolved.
func Write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	Put(t, dir, files)
	return dir
}

// Put writes files into a folder.
func Put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// Handlers returns an extension with one handler for the event "e" for each function body.
func Handlers(bodies ...string) string {
	code := "export function registerAgentEvents(registry) {\n"
	for _, body := range bodies {
		code += "registry.on(\"e\", " + body + ");\n"
	}
	return code + "}\n"
}

// Event returns an event "e".
func Event(payload string) *extensions.Event {
	return &extensions.Event{Type: "e", Payload: json.RawMessage(payload)}
}

// Load loads an extension and closes it at the end of the test.
func Load(t testing.TB, host extensions.Host, source extensions.Source) extensions.Module {
	t.Helper()
	module, err := host.Load(t.Context(), source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { Close(t, module) })
	return module
}

// Close closes an extension.
func Close(t testing.TB, module extensions.Module) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	if err := module.Close(ctx); err != nil {
		t.Error(err)
	}
}

// Handle runs one handler with a long timeout.
func Handle(t testing.TB, module extensions.Module, number int, with *Tools) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	out, err := module.Handle(ctx, number, Event(`{"n":1}`), with)
	return string(out), err
}

// Answers checks that a well-behaved handler works, after the next start if necessary.
func Answers(t testing.TB, module extensions.Module, number int) {
	t.Helper()
	if got, err := Handle(t, module, number, &Tools{}); err != nil || got != `"fine"` {
		t.Errorf("the next event is answered with %s, %v", got, err)
	}
}

// Cut runs a handler that must be cut off and checks that the result comes in time: after timeout, at most slack
// later.
func Cut(t testing.TB, module extensions.Module, number int, timeout, slack time.Duration, with extensions.Tools) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), timeout)
	defer cancel()
	start := time.Now()
	out, err := module.Handle(ctx, number, Event(`{}`), with)
	if took := time.Since(start); took > timeout+slack {
		t.Errorf("handler %d was answered after %s", number, took)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("handler %d: %s, %v", number, out, err)
	}
}

// WaitFor polls until a condition holds.
func WaitFor(t testing.TB, what string, holds func() bool) {
	t.Helper()
	if !polling.Until(Patience, holds) {
		t.Fatalf("%s did not come", what)
	}
}

// Tools is a server's side that records its calls.
type Tools struct {
	// Settings means that sessions have settings. Enqueue, when set, responds for the queue.
	Settings bool
	Enqueue  func(context.Context, json.RawMessage) (json.RawMessage, error)

	mu               sync.Mutex
	enqueued, logged []string
}

// EnqueueJob implements extensions.Tools.
func (f *Tools) EnqueueJob(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
	f.mu.Lock()
	f.enqueued = append(f.enqueued, string(input))
	f.mu.Unlock()
	if f.Enqueue != nil {
		return f.Enqueue(ctx, input)
	}
	return json.RawMessage(`{"status":"enqueued","job":{"id":"j1"}}`), nil
}

// HasSettings implements extensions.Tools.
func (f *Tools) HasSettings() bool { return f.Settings }

// GetSessionSettings implements extensions.Tools. The session "missing" does not exist.
func (f *Tools) GetSessionSettings(_ context.Context, id string) (json.RawMessage, error) {
	if id == "missing" {
		return nil, errors.New("no such session")
	}
	return json.RawMessage(fmt.Sprintf(`{"of":%q,"auto":true}`, id)), nil
}

// GetSessionSetting implements extensions.Tools. The setting "none" does not exist.
func (f *Tools) GetSessionSetting(_ context.Context, id, key string) (json.RawMessage, error) {
	if key == "none" {
		return nil, nil
	}
	return json.RawMessage(fmt.Sprintf("%q", id+"/"+key)), nil
}

// Log implements extensions.Tools.
func (f *Tools) Log(level string, fields json.RawMessage, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.logged = append(f.logged, level+" "+string(fields)+" "+message)
}

// Enqueued returns the enqueued jobs.
func (f *Tools) Enqueued() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.enqueued)
}

// Logged returns the logged lines.
func (f *Tools) Logged() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.logged)
}
