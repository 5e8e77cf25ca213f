package js_test

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

	"harness/extensions"
	"harness/extensions/js"
)

// write puts files into a folder and returns it with links resolved.
func write(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, dir, files)
	return dir
}

func put(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func source(dir, entry string) extensions.Source {
	return extensions.Source{
		ModuleName: "probe", Name: "@test/probe", Version: "1.0.0", AgentID: "probe",
		Root: dir, SourceRoot: dir, Entrypoint: filepath.Join(dir, entry), Trust: extensions.TrustWarn,
	}
}

func newHost(limits js.Limits) *js.Host {
	if limits.Grace == 0 && engineSlowdown > 1 {
		// The engine looks for interrupts every 10,000 steps: that is no time without the race detector, and some with it.
		limits.Grace = 2 * time.Second
	}
	return js.New(js.Options{Limits: limits, Logger: zerolog.Nop()})
}

// load loads an extension of one file and closes it at the test's end.
func load(t testing.TB, host *js.Host, code string) extensions.Module {
	t.Helper()
	module, err := host.Load(t.Context(), source(write(t, map[string]string{"events.mjs": code}), "events.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	closeLater(t, module)
	return module
}

func closeLater(t testing.TB, module extensions.Module) {
	t.Helper()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := module.Close(ctx); err != nil {
			t.Error(err)
		}
	})
}

// handlers wraps function bodies, one handler each for the event "e".
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

// tools is a server's side that records.
type tools struct {
	mu       sync.Mutex
	enqueued []string
	logged   []string
	settings bool
	enqueue  func(context.Context, json.RawMessage) (json.RawMessage, error)
}

func (f *tools) EnqueueJob(ctx context.Context, input json.RawMessage) (json.RawMessage, error) {
	f.mu.Lock()
	f.enqueued = append(f.enqueued, string(input))
	enqueue := f.enqueue
	f.mu.Unlock()
	if enqueue != nil {
		return enqueue(ctx, input)
	}
	return json.RawMessage(`{"status":"enqueued","job":{"id":"j1"}}`), nil
}

func (f *tools) HasSettings() bool { return f.settings }

func (f *tools) GetSessionSettings(_ context.Context, id string) (json.RawMessage, error) {
	if id == "missing" {
		return nil, errors.New("no such session")
	}
	return json.RawMessage(fmt.Sprintf(`{"of":%q,"auto":true}`, id)), nil
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

// handle runs one handler with a generous timeout.
func handle(t testing.TB, module extensions.Module, number int, with *tools) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	out, err := module.Handle(ctx, number, event(`{"n":1}`), with)
	return string(out), err
}
