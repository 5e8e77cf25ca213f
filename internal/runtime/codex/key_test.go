package codex_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"harness/internal/runtime"
	"harness/internal/runtime/codex"
	"harness/internal/runtime/process"
	"harness/internal/runtime/stdio"
	"harness/tests/codextest"
	"harness/tests/mockmodel"
)

// authorizations passes requests on to a model and stores their authorizations.
type authorizations struct {
	mu   sync.Mutex
	seen []string
}

func (a *authorizations) before(t *testing.T, model string) string {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(model, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.seen = append(a.seen, r.Header.Get("Authorization"))
		a.mu.Unlock()
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

// A codex without a login uses the key of the environment if its model requires one, and only then; an existing login
// stays.
func TestTheKeyOfTheEnvironmentLogsIn(t *testing.T) {
	const key = "sk-of-the-environment"
	onEach(t, func(t *testing.T, version codextest.Version) {
		for name, c := range map[string]struct {
			options []codextest.Option
			login   string
			want    string
		}{
			"asked for":     {options: []codextest.Option{codextest.NeedsLogin()}, want: "Bearer " + key},
			"not asked for": {},
			"logged in": {options: []codextest.Option{codextest.NeedsLogin()}, login: `{"OPENAI_API_KEY":"sk-of-the-login"}`,
				want: "Bearer sk-of-the-login"},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var seen authorizations
				model := mockmodel.Start(t)
				b := &bundle{recorder: newRecorder(), version: version, model: model, cwd: t.TempDir()}
				b.home = codextest.Home(t, seen.before(t, model.URL()), append(c.options, codextest.For(version))...)
				stored := filepath.Join(b.home, "auth.json")
				if c.login != "" {
					if err := os.WriteFile(stored, []byte(c.login), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				b.codex = codex.New(codex.Options{Bin: codextest.Binary(t, version), Home: b.home,
					Setup: stdio.Setup{Launch: stdio.Launch{Marker: process.Marker(b.home, "codex"), Logger: logger(t),
						Env: []string{"HOME=" + b.home, "OPENAI_API_KEY=" + key}},
						Supervise: stdio.Options{Sink: b.sink, StartTimeout: patience}}})
				start(t, b.codex)
				turn := b.turn(t, runtime.StartTurn{ThreadID: b.thread(t, runtime.StartThread{})}, "MOCK_REPLY[hello]")
				if done := b.completed(t, turn); done.Status != "completed" {
					t.Fatalf("the turn is %+v", done)
				}
				if status, err := b.codex.Auth(t.Context()); err != nil || status.State != runtime.AuthFound {
					t.Errorf("auth is %+v, %v", status, err)
				}
				text, err := os.ReadFile(stored)
				if kept := strings.Contains(string(text), key); kept != (name == "asked for") {
					t.Errorf("its home keeps the key: %v (%v)", kept, err)
				}
				seen.mu.Lock()
				defer seen.mu.Unlock()
				for _, got := range seen.seen {
					if got != c.want && (c.want != "" || strings.Contains(got, "Bearer")) {
						t.Errorf("a request carried %q, want %q", got, c.want)
					}
				}
			})
		}
	})
}

// The start logs codex's login state: the kind of its login, or the missing part if its model requires a login.
func TestLoginIsLoggedAtStart(t *testing.T) {
	onEach(t, func(t *testing.T, version codextest.Version) {
		for name, c := range map[string]struct {
			options  []codextest.Option
			env      []string
			says     string
			warnings int
		}{
			"nothing":         {options: []codextest.Option{codextest.NeedsLogin()}, says: "harness login", warnings: 1},
			"a key":           {options: []codextest.Option{codextest.NeedsLogin()}, env: []string{"OPENAI_API_KEY=sk-a"}, says: "signed in with OPENAI_API_KEY"},
			"another's model": {},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				lines := logLines{said: make(chan string, 100)}
				home := codextest.Home(t, "http://127.0.0.1:9/v1", append(c.options, codextest.For(version))...)
				recorder := newRecorder()
				own := codex.New(codex.Options{Bin: codextest.Binary(t, version), Home: home,
					Setup: stdio.Setup{Launch: stdio.Launch{Marker: process.Marker(home, "codex"),
						Logger: zerolog.New(lines).Level(zerolog.InfoLevel), Env: append(c.env, "HOME="+home)},
						Supervise: stdio.Options{Sink: recorder.sink, StartTimeout: patience}}})
				start(t, own)
				if _, err := own.Call(t.Context(), "account/read", map[string]any{}); err != nil { // the call waits for the start
					t.Fatal(err)
				}
				text := ""
				if c.says != "" {
					text = <-lines.said
				}
				stop(t, own)
				close(lines.said)
				for line := range lines.said {
					text += line
				}
				if !strings.Contains(text, c.says) || strings.Contains(text, "signed in") != (c.says != "") ||
					strings.Count(text, `"level":"warn"`) != c.warnings || strings.Contains(text, "sk-a") {
					t.Errorf("at start it says %s", text)
				}
			})
		}
	})
}

// logLines passes on the lines of a log.
type logLines struct{ said chan string }

func (l logLines) Write(line []byte) (int, error) {
	l.said <- string(line)
	return len(line), nil
}
