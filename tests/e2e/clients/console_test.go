package clients

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"harness/internal/platform/database"
	"harness/tests/agenttest"
	"harness/tests/chromiumtest"
	"harness/tests/programtest"
)

// consoleWeb is the folder of the console's sources and tests.
const consoleWeb = "../../../console/web"

// consolePatience limits the total time of all console cases.
const consolePatience = 12 * time.Minute

const consoleToken = "the-owner-of-the-console"

// requireConsole fails with the remedy if the console is not built. It reads the cases, so that a cached result of go
// test does not apply to other cases.
func requireConsole(t *testing.T) {
	t.Helper()
	cases, err := filepath.Glob(consoleWeb + "/e2e/*.mjs")
	if err != nil || len(cases) == 0 {
		t.Fatalf("the console has no cases: %v", err)
	}
	for _, name := range cases {
		if _, err := os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	for _, part := range []string{consoleWeb + "/node_modules/playwright-core", "../../../console/dist/app/index.html"} {
		if _, err := os.Stat(part); err != nil {
			t.Fatalf("the console is not built (%v); run scripts/console.sh, which needs Node.js 20.19 or newer and npm", err)
		}
	}
}

// front is a proxy in front of a server, with an address that stays the same while servers are killed and started. It
// keeps the host of the request, like a proxy.
type front struct {
	address string
	target  atomic.Pointer[url.URL]
	// build renames the files of the console, as a new build does; nil leaves them.
	build atomic.Pointer[otherBuild]
}

func newFront(t *testing.T) *front {
	t.Helper()
	f := &front{}
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(f.target.Load())
			r.Out.Host = r.In.Host
			if b := f.build.Load(); b != nil {
				b.request(r.Out)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			if b := f.build.Load(); b != nil {
				return b.response(r)
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	})
	t.Cleanup(proxy.Close)
	f.address = proxy.URL
	return f
}

// to has the proxy pass requests on to a server.
func (f *front) to(t *testing.T, server *programtest.Server) {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	f.target.Store(u)
}

// pushService receives pushed messages. next serves each as base64.
func pushService(t *testing.T) (address string, next http.Handler) {
	t.Helper()
	messages := make(chan []byte, 100)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		w.WriteHeader(http.StatusCreated)
		messages <- body
	}))
	t.Cleanup(service.Close)
	return service.URL, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case body := <-messages:
			_, _ = io.WriteString(w, base64.StdEncoding.EncodeToString(body)) // without it the page fails
		case <-r.Context().Done():
		}
	})
}

// consoleExtension is loaded from the start, so that the console has a job to show.
const consoleExtension = `
export function registerAgentEvents(registry) {
  registry.on("suggest_request.requested", async (event, tools) => {
    const p = event.payload;
    return tools.enqueueJob({ type: "suggest_request", projectId: p.projectId, sourceSessionId: p.sessionId,
      payload: { requestKey: p.requestKey, projectId: p.projectId, sourceSessionId: p.sessionId, draft: "from the console" } });
  });
}
`

// The console in a real browser, on a server with the real codex and the real Claude Code. console/web/e2e has the
// cases. All of them run on SQLite. The cases about server features also run on Postgres, below a path of a proxy's
// host.
func TestTheConsole(t *testing.T) {
	t.Parallel()
	requireConsole(t)
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		theConsole(t, database.SQLite, "", "")
	})
	if os.Getenv("HARNESS_UPDATE") != "" {
		return // pictures are taken only once
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		theConsole(t, database.Postgres, "/tools/harness", "yes")
	})
}

// theConsole runs the cases against a server that serves its pages at path. core are the cases that use the most
// server features.
func theConsole(t *testing.T, engine database.Engine, path, core string) {
	service, pushed := pushService(t)
	s := programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("HARNESS_NOTIFY_PUSH_SERVICES="+service,
		"HARNESS_AUTH_TOKEN="+consoleToken, "DEFAULT_APPROVAL_POLICY=untrusted", "HARNESS_CHECKPOINTS=on",
		"HARNESS_PUBLIC_URL=http://127.0.0.1"+path, "HARNESS_RUNTIMES=codex,claude", "CLAUDE_BIN="+agenttest.Binary(t, "claude"),
		"ANTHROPIC_API_KEY=sk-ant-of-the-console"))
	s.Env = append(s.Env, "ANTHROPIC_BASE_URL="+s.Model.Root())
	s.Extension("suggester", map[string]string{"events.js": consoleExtension})
	server := s.Start()
	proxy := newFront(t)
	address := proxy.address
	proxy.to(t, server)
	server.Eventually("codex is ready", func() bool {
		answer, err := http.Get(server.URL + "/readyz") //nolint:noctx // the test's patience bounds it
		if err != nil {
			return false
		}
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	// The cases run one after another, and so do their orders. A failure ends the test on its own goroutine.
	orders := make(chan func(), 1)
	done := make(chan struct{})
	control := http.NewServeMux()
	order := func(path string, do func(r *http.Request)) {
		control.HandleFunc("POST /"+path, func(_ http.ResponseWriter, r *http.Request) {
			carried := make(chan struct{})
			select {
			case orders <- func() { defer close(carried); do(r) }:
				<-carried
			case <-done:
			}
		})
	}
	order("kill", func(*http.Request) { server.Kill() })
	environment := slices.Clone(s.Env)
	order("start", func(r *http.Request) {
		s.Env = append(slices.Clone(environment), r.URL.Query()["env"]...)
		server = s.Start()
		proxy.to(t, server)
	})
	order("extension", func(r *http.Request) {
		s.Extension(r.URL.Query().Get("name"), map[string]string{"events.js": r.URL.Query().Get("code")})
	})
	order("build", func(r *http.Request) {
		if proxy.build.Store(nil); r.URL.Query().Has("new") {
			proxy.build.Store(newBuild(t))
		}
	})
	order("release", func(r *http.Request) { s.Model.Release(r.URL.Query().Get("name")) })
	control.Handle("POST /pushed", pushed)
	control.HandleFunc("POST /link", func(w http.ResponseWriter, _ *http.Request) {
		code, link, stderr := s.Run("open", "--print", "--url", address+path)
		if code != 0 {
			http.Error(w, stderr, http.StatusInternalServerError)
			return
		}
		_, _ = io.WriteString(w, strings.TrimSpace(link)) // without it the case fails
	})
	hand := httptest.NewServer(control)
	t.Cleanup(hand.Close)
	t.Cleanup(func() { close(done) })

	pictures := "" // HARNESS_UPDATE=1 writes those of the documentation instead
	if os.Getenv("HARNESS_UPDATE") != "" {
		var err error
		if pictures, err = filepath.Abs("../../../docs/pictures"); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), consolePatience)
	defer cancel()
	cases := exec.CommandContext(ctx, "node", "e2e/main.mjs")
	cases.Dir = consoleWeb
	cases.WaitDelay = 10 * time.Second
	cases.Env = append(os.Environ(), "CONSOLE_ONLY="+os.Getenv("CONSOLE_ONLY"), "CONSOLE_PICTURES="+pictures,
		"CONSOLE_CORE="+core, "CONSOLE_URL="+address+path, "CONSOLE_CONTROL="+hand.URL, "CONSOLE_PUSH="+service,
		"CONSOLE_TOKEN="+consoleToken,
		"CONSOLE_CHROMIUM="+chromiumtest.Binary(t), "CONSOLE_SHELL="+chromiumtest.Shell(t))
	type result struct {
		said []byte
		err  error
	}
	ended := make(chan result, 1)
	go func() {
		said, err := cases.CombinedOutput()
		ended <- result{said, err}
	}()
	for {
		select {
		case carryOut := <-orders:
			carryOut()
		case r := <-ended:
			t.Logf("%s", r.said)
			if r.err != nil {
				t.Fatalf("the cases of the console: %v", r.err)
			}
			return
		}
	}
}
