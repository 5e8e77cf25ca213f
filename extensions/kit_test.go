package extensions_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"harness/extensions"
	"harness/extensions/sdk"
)

// script is the test host's parsed entrypoint: one line per handler, "<event> <priority|-> <timeoutMs|-> <JSON result |
// !error | @wait>".
type script struct {
	subscriptions []extensions.Subscription
	answers       []string
	closed        *atomic.Int64
	waiting       chan<- struct{}
}

// scriptHost replaces an engine in tests of the registry: it implements only the Host interface.
type scriptHost struct {
	open, closed atomic.Int64
	waiting      chan struct{} // receives when a handler starts to wait; nil: unused
}

func (*scriptHost) Kind() string { return extensions.HostEmbedded }

func (h *scriptHost) Load(_ context.Context, source extensions.Source) (extensions.Module, error) {
	raw, err := os.ReadFile(source.Entrypoint)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(raw))
	switch {
	case strings.HasPrefix(text, "throw "):
		return nil, errors.New(strings.TrimPrefix(text, "throw "))
	case strings.HasPrefix(text, "register throw "):
		return nil, &extensions.LoadError{Code: extensions.RegistrationFailed,
			Message: strings.TrimPrefix(text, "register throw ")}
	case text == "":
		return nil, &extensions.LoadError{Code: extensions.MissingRegister, Message: extensions.MissingRegisterText}
	}
	m := &script{closed: &h.closed, waiting: h.waiting}
	for line := range strings.SplitSeq(text, "\n") {
		parts := strings.SplitN(line, " ", 4)
		s := extensions.Subscription{EventType: parts[0]}
		if parts[1] != "-" {
			s.HasPriority = true
			_ = json.Unmarshal([]byte(parts[1]), &s.Priority)
		}
		if parts[2] != "-" {
			_ = json.Unmarshal([]byte(parts[2]), &s.TimeoutMs)
		}
		m.subscriptions, m.answers = append(m.subscriptions, s), append(m.answers, parts[3])
	}
	h.open.Add(1)
	return m, nil
}

func (m *script) Subscriptions() []extensions.Subscription { return m.subscriptions }

func (m *script) Handle(ctx context.Context, i int, event *extensions.Event, tools extensions.Tools) (
	json.RawMessage, error) {
	answer := m.answers[i]
	switch {
	case strings.HasPrefix(answer, "!"):
		return nil, errors.New(answer[1:])
	case answer == "@wait":
		select {
		case m.waiting <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return nil, ctx.Err()
	case answer == "@event":
		return event.JSON(), nil
	case strings.HasPrefix(answer, "@enqueue "):
		return tools.EnqueueJob(ctx, json.RawMessage(strings.TrimPrefix(answer, "@enqueue ")))
	case answer == "undefined":
		return nil, nil
	}
	return json.RawMessage(answer), nil
}

func (m *script) Health() extensions.Health { return extensions.Health{State: extensions.HealthOK} }

func (m *script) Close(context.Context) error {
	m.closed.Add(1)
	return nil
}

// write writes files into a folder; keys are paths.
func write(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// folder returns a new folder with its symbolic links resolved.
func folder(t *testing.T) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return real
}

func manifest(name string, more string) string {
	return `{"name":"@t/` + name + `","version":"1.0.0","agentId":"` + name + `","displayName":"` + name + `"` + more + `}`
}

// registry makes a registry on a root and closes it at the end of the test.
func registry(t *testing.T, opts extensions.Options) *extensions.Registry {
	t.Helper()
	if opts.Hosts == nil {
		opts.Hosts = []extensions.Host{&scriptHost{}}
	}
	r := extensions.New(opts)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := r.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// ofScripts makes and loads a registry of repo_local extensions from module name -> script.
func ofScripts(t *testing.T, opts extensions.Options, scripts map[string]string) *extensions.Registry {
	t.Helper()
	root := folder(t)
	for name, text := range scripts {
		write(t, root, map[string]string{name + "/events.js": text})
	}
	opts.Roots = append(opts.Roots, extensions.Root{Type: extensions.RepoLocal, Path: root})
	r := registry(t, opts)
	for _, problem := range r.Load(t.Context()) {
		t.Fatalf("load: %v", problem)
	}
	return r
}

func emit(t *testing.T, r *extensions.Registry, eventType string) []sdk.EmitResult {
	t.Helper()
	return r.Emit(t.Context(), &extensions.Event{Type: eventType, Payload: json.RawMessage(`{"n":1}`)}, extensions.Scope{})
}

func shape(t *testing.T, value any) string {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(encoded)
}
