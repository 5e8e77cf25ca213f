package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"harness/database"
	"harness/internal/agenttest"
	"harness/internal/codextest"
	"harness/internal/dbtest"
	"harness/internal/mcptest"
	"harness/internal/mockmodel"
	"harness/runtime/codex"
	"harness/runtime/process"
	"harness/runtime/process/shim"
)

// patience bounds every wait of the end-to-end tests; it is generous because the machine may be busy, and only ever
// used up by a failure.
const patience = 60 * time.Second

// site is one installation: a data directory, a database, a codex home and a model. Servers come and go on it.
type site struct {
	t         *testing.T
	model     *mockmodel.Server
	dataDir   string
	workspace string
	// user runs the servers, program is what it starts.
	user    int
	program string
	// detecting: its servers run under the race detector.
	detecting bool
	// databaseURL is "" on SQLite.
	databaseURL string
	env         []string
}

type siteOption func(*siteOptions)

type siteOptions struct {
	engine database.Engine
	codex  codextest.Version
	env    []string
	detect bool
	// home are further options of codex's home.
	home []codextest.Option
	// databaseURL is the database of another site, to share it.
	databaseURL string
}

func withEngine(engine database.Engine) siteOption { return func(o *siteOptions) { o.engine = engine } }

func withCodex(version codextest.Version) siteOption {
	return func(o *siteOptions) { o.codex = version }
}

// withDatabaseOf makes another server's site on the same Postgres.
func withDatabaseOf(other *site) siteOption {
	return func(o *siteOptions) { o.databaseURL = other.databaseURL }
}

func withEnv(env ...string) siteOption {
	return func(o *siteOptions) { o.env = append(o.env, env...) }
}

// withMCP gives codex a real MCP server, and lets it ask for permissions.
func withMCP() siteOption {
	return func(o *siteOptions) {
		o.home = append(o.home, codextest.Feature("request_permissions_tool"),
			codextest.Config(mcptest.Config(os.Args[0], runAsMCP)))
	}
}

func newSite(t *testing.T, options ...siteOption) *site {
	t.Helper()
	o := siteOptions{engine: database.SQLite, codex: codextest.Default}
	for _, option := range options {
		option(&o)
	}
	model := mockmodel.Start(t)
	if o.databaseURL == "" {
		o.databaseURL = dbtest.URL(t, o.engine)
	}
	s := &site{t: t, model: model, user: os.Geteuid(), dataDir: filepath.Join(t.TempDir(), "data"), workspace: t.TempDir(),
		databaseURL: o.databaseURL, detecting: underRace && (o.detect || os.Getenv(detectInAll) != "")}
	s.program = program(t, s.detecting)
	home := codextest.Home(t, model.URL(), append(o.home, codextest.For(o.codex))...)
	s.env = append([]string{
		runAsHarness + "=1", "PATH=" + agenttest.PathWithout(t, "bwrap"), "HOME=" + home, "CODEX_HOME=" + home,
		"CODEX_BIN=" + codextest.Binary(t, o.codex),
		// Not what happens to be installed on this machine.
		"HARNESS_RUNTIMES=codex",
		"PORT=0", "DATA_DIR=" + s.dataDir, "HARNESS_LOG_FORMAT=json", "LOG_LEVEL=info",
		"DEFAULT_SANDBOX_MODE=danger-full-access",
		// A test that is cut off must not leave runtimes behind for long.
		"HARNESS_DETACH_GRACE_MS=120000", "DATABASE_URL=" + s.databaseURL,
		// The detector tells races when they happen; the second it would wait at each exit serves nobody.
		"GORACE=halt_on_error=1 atexit_sleep_ms=0",
	}, o.env...)
	t.Cleanup(s.endRuntimes)
	return s
}

// endRuntimes ends the runtimes that a killed server has left, as they are meant to be. One that the server was just
// starting is found a moment later.
func (s *site) endRuntimes() {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	s.awaitNoRuntimes(func() {
		found, err := shim.Discover(runDir(s.dataDir))
		if err != nil {
			s.t.Error(err)
		}
		for _, f := range found {
			if _, _, err := shim.Reap(ctx, f); err != nil {
				s.t.Error(err)
			}
		}
	})
}

// requireNoOrphans checks over /proc that no runtime process, nor anything one started, is left. A runtime learns of
// its server's death by signal, so it is given a moment.
func (s *site) requireNoOrphans() {
	s.t.Helper()
	s.awaitNoRuntimes(func() {})
}

// awaitNoRuntimes calls before each look at the processes.
func (s *site) awaitNoRuntimes(before func()) {
	s.t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for {
		before()
		left, err := process.Marked(process.Mark(s.dataDir, codex.Name))
		if err == nil && len(left) == 0 {
			return
		}
		select {
		case <-ticker.C:
		case <-deadline:
			s.t.Errorf("runtime processes left behind: %v (%v)", left, err)
			return
		}
	}
}

// instance is one running server process.
type instance struct {
	*site
	cmd    *exec.Cmd
	url    string
	ready  chan string
	exited chan struct{}
	mu     sync.Mutex
	log    bytes.Buffer
}

// start runs a server and returns when it is ready for requests.
func (s *site) start(env ...string) *instance {
	s.t.Helper()
	return s.startBinary(s.program, env...)
}

// startBinary is start for another build of the program.
func (s *site) startBinary(binary string, env ...string) *instance {
	s.t.Helper()
	i := s.launch(binary, env...)
	i.awaitReady()
	return i
}

// launch runs a server and does not wait for it.
func (s *site) launch(binary string, env ...string) *instance {
	s.t.Helper()
	cmd := exec.Command(binary, "serve")
	cmd.Env = append(append([]string{}, s.env...), env...)
	cmd.Dir = s.workspace
	if s.user != os.Geteuid() {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Credential: &syscall.Credential{Uid: uint32(s.user), Gid: uint32(s.user)}} //nolint:gosec // an id
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	i := &instance{site: s, cmd: cmd, ready: make(chan string, 1), exited: make(chan struct{})}
	go func() {
		defer close(i.exited)
		i.readLog(stderr)
		_ = cmd.Wait()
	}()
	s.t.Cleanup(func() {
		i.kill()
		if s.t.Failed() {
			s.t.Logf("server log:\n%s", i.logTail())
		}
	})
	return i
}

// awaitReady returns when the server is ready for requests.
func (i *instance) awaitReady() {
	i.t.Helper()
	select {
	case i.url = <-i.ready:
	case <-i.exited:
		i.t.Fatalf("the server ended at start:\n%s", i.logTail())
	case <-time.After(patience):
		i.t.Fatalf("the server did not get ready:\n%s", i.logTail())
	}
}

// awaitRuntime waits until the server says that it is ready, which it is once a runtime is.
func (i *instance) awaitRuntime() {
	i.t.Helper()
	i.eventually("it is ready for work", func() bool {
		status, _ := i.call(http.MethodGet, "/readyz", nil)
		return status == http.StatusOK
	})
}

// isServing knows the line of this release and that of earlier ones.
func isServing(message string) bool {
	return strings.HasPrefix(message, "harness is serving") || strings.HasPrefix(message, "harness is ready")
}

func (i *instance) readLog(stderr io.Reader) {
	reader := bufio.NewReader(stderr)
	for {
		line, err := reader.ReadBytes('\n')
		i.mu.Lock()
		i.log.Write(line)
		i.mu.Unlock()
		var entry struct{ URL, Message string }
		if json.Unmarshal(line, &entry) == nil && isServing(entry.Message) {
			i.ready <- entry.URL
		}
		if err != nil {
			return
		}
	}
}

// logTail is the end of the server's log: little enough that what failed is not lost among it where only the end of a
// run's output is kept.
func (i *instance) logTail() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	text := i.log.String()
	return text[max(0, len(text)-4_000):]
}

// logged tells whether one line of the server's log has all the words.
func (i *instance) logged(words ...string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	for line := range strings.Lines(i.log.String()) {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) }) {
			return true
		}
	}
	return false
}

// kill ends the server with SIGKILL and waits until it is gone.
func (i *instance) kill() {
	_ = i.cmd.Process.Kill()
	<-i.exited
}

// stop ends the server with SIGTERM and checks that it ends well and in time.
func (i *instance) stop() {
	i.t.Helper()
	i.stopBy(syscall.SIGTERM)
}

// stopBy is stop with another signal.
func (i *instance) stopBy(signal syscall.Signal) {
	i.t.Helper()
	if err := i.cmd.Process.Signal(signal); err != nil {
		i.t.Fatal(err)
	}
	select {
	case <-i.exited:
	case <-time.After(patience):
		i.t.Fatalf("the server did not stop:\n%s", i.logTail())
	}
	if code := i.cmd.ProcessState.ExitCode(); code != 0 {
		i.t.Fatalf("the server ended with %d:\n%s", code, i.logTail())
	}
}

// object is decoded JSON.
type object = map[string]any

// call makes a request and returns status and body. body may be nil.
func (i *instance) call(method, path string, body any) (int, object) {
	i.t.Helper()
	status, raw, err := i.try(method, path, body)
	if err != nil {
		i.t.Fatalf("%s %s: %v", method, path, err)
	}
	var decoded object
	if err := json.Unmarshal(raw, &decoded); err != nil {
		i.t.Fatalf("%s %s answered %d %q", method, path, status, raw)
	}
	return status, decoded
}

// try is call for requests that may fail because the server dies.
func (i *instance) try(method, path string, body any) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return 0, nil, err
		}
		reader = bytes.NewReader(encoded)
	}
	request, err := http.NewRequestWithContext(ctx, method, i.url+path, reader)
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := i.client().Do(request)
	if err != nil {
		return 0, nil, err
	}
	raw, err := io.ReadAll(response.Body)
	return response.StatusCode, raw, errors.Join(err, response.Body.Close())
}

// client keeps no idle connections: they would outlive the test.
func (i *instance) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}

// want makes a request that must be answered with the status.
func (i *instance) want(status int, method, path string, body any) object {
	i.t.Helper()
	got, answer := i.call(method, path, body)
	if got != status {
		i.t.Fatalf("%s %s answered %d, want %d: %v", method, path, got, status, answer)
	}
	return answer
}

// createSession opens a session and returns its id.
func (i *instance) createSession(body any) string {
	i.t.Helper()
	i.waitRuntime()
	answer := i.want(http.StatusOK, http.MethodPost, "/api/sessions", body)
	return text(answer, "session", "sessionId")
}

// send posts a message and returns the turn's id.
func (i *instance) send(session, message string) string {
	i.t.Helper()
	answer := i.want(http.StatusAccepted, http.MethodPost, "/api/sessions/"+session+"/messages", object{"text": message})
	return text(answer, "turnId")
}

// transcript reads the session's transcript entries.
func (i *instance) transcript(session string) []object {
	i.t.Helper()
	answer := i.want(http.StatusOK, http.MethodGet, "/api/sessions/"+session, nil)
	var entries []object
	for _, entry := range answer["transcript"].([]any) {
		entries = append(entries, entry.(object))
	}
	return entries
}

// waitRuntime returns when the default runtime is usable; routes wait for it by themselves, this makes start-up no part
// of a test's timing.
func (i *instance) waitRuntime() {
	i.t.Helper()
	i.eventually("the default runtime is ready", func() bool {
		_, health := i.call(http.MethodGet, "/api/health", nil)
		if runtimes, told := health["runtimes"].([]any); told {
			return text(runtimes[0], "state") == "ready"
		}
		return health["codex"].(object)["initialized"] == true // a build from before there were others
	})
}

// eventually polls for what no event tells.
func (i *instance) eventually(what string, condition func() bool) {
	i.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !condition() {
		select {
		case <-ticker.C:
		case <-deadline:
			i.t.Fatalf("never: %s", what)
		}
	}
}

// text digs a string out of decoded JSON; "" when it is not there.
func text(value any, path ...string) string {
	for _, key := range path {
		members, ok := value.(object)
		if !ok {
			return ""
		}
		value = members[key]
	}
	if value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

// command runs another subcommand of the program on this site and returns its exit code and output.
func (s *site) command(args ...string) (int, string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program(s.t, false), args...)
	cmd.Env = s.env
	cmd.Dir = s.workspace
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(out)
}
