package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"harness/internal/platform/config"
	"harness/internal/platform/database"
	"harness/migrations"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// An invalid setting ends the command with exit code 2 and one line that names the setting and the allowed values.
func TestBadSettingsAreOneLineAndExitCodeTwo(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	newer := dbtest.Options(t, database.SQLite)
	makeNewer(t, newer)
	for name, c := range map[string]struct {
		env  []string
		args []string
		code int
		says []string
	}{
		"bad value": {env: []string{"PORT=abc"}, args: []string{"serve"}, code: 2,
			says: []string{"PORT", `"abc"`, "65535"}},
		"bad flag":        {args: []string{"serve", "--port", "80000"}, code: 2, says: []string{"PORT", `"80000"`}},
		"unknown flag":    {args: []string{"serve", "--nonsense"}, code: 2, says: []string{"--nonsense"}},
		"unknown command": {args: []string{"bogus"}, code: 2, says: []string{`"bogus"`}},
		"unknown of config": {args: []string{"config", "bogus"}, code: 2,
			says: []string{`"bogus"`, "harness config --help"}},
		"unknown of jobs": {args: []string{"jobs", "bogus"}, code: 2, says: []string{`"bogus"`, "harness jobs --help"}},
		"unknown of runtimes": {args: []string{"runtimes", "bogus"}, code: 2,
			says: []string{`"bogus"`, "harness runtimes --help"}},
		"unknown extensions": {args: []string{"extensions", "bogus"}, code: 2,
			says: []string{`"bogus"`, "harness extensions --help"}},
		"an argument too many": {args: []string{"migrate", "bogus"}, code: 2, says: []string{`"bogus"`, "harness migrate"}},
		"an argument too few":  {args: []string{"restore"}, code: 2, says: []string{"missing FILE", "harness restore"}},
		"a word that is none": {args: []string{"run", "--sandbox", "none", "hi"}, code: 2,
			says: []string{`--sandbox must be`, `not "none"`, "read-only, workspace-write or danger-full-access"}},
		"a rule that is none": {args: []string{"run", "--approve", "maybe", "hi"}, code: 2,
			says: []string{`--approve must be`, `not "maybe"`, "ask, accept or decline"}},
		"a limit too high":    {args: []string{"sessions", "list", "--limit", "5000"}, code: 2, says: []string{`--limit must be`, `"5000"`, "1 to 200"}},
		"no number":           {args: []string{"sessions", "list", "--limit", "x"}, code: 2, says: []string{`--limit must be`, `"x"`, "1 to 200"}},
		"no time":             {args: []string{"jobs", "wait", "j", "--timeout", "y"}, code: 2, says: []string{`--timeout must be`, `"y"`, "5m"}},
		"no role":             {args: []string{"tokens", "create", "x"}, code: 2, says: []string{"--role is required", "viewer, ci"}},
		"a role that is none": {args: []string{"tokens", "create", "x", "--role", "boss"}, code: 2, says: []string{`--role must be`, `"boss"`, "viewer"}},
		"another such role":   {args: []string{"tokens", "role", "x", "boss"}, code: 2, says: []string{`role must be`, `"boss"`, "viewer"}},
		"an empty name":       {args: []string{"projects", "create", " "}, code: 2, says: []string{"NAME is empty"}},
		"help for nothing":    {args: []string{"help", "foo"}, code: 2, says: []string{`"foo"`, "harness --help"}},
		"no such shell":       {args: []string{"completion", "tcsh"}, code: 2, says: []string{`"tcsh"`, "bash, zsh or fish"}},
		"nearly a command":    {args: []string{"sesions"}, code: 2, says: []string{"did you mean sessions?"}},
		"nearly one below":    {args: []string{"sessions", "lst"}, code: 2, says: []string{"did you mean list?"}},
		"a session missing":   {args: []string{"sessions", "delete"}, code: 2, says: []string{"missing SESSION", "harness sessions delete"}},
		"a flag missing":      {args: []string{"mcp"}, code: 2, says: []string{"--session is missing"}},
		"another output":      {args: []string{"doctor", "-o", "xml"}, code: 2, says: []string{"it is json"}},
		"no archive":          {args: []string{"restore", "/no/such"}, code: 1, says: []string{"/no/such"}},
		"no data directory": {args: []string{"runtimes", "list"}, code: 2,
			says: []string{"there is no data directory", "--data-dir"}},
		"open bind": {env: []string{"HOST=0.0.0.0"}, args: []string{"serve"}, code: 2,
			says: []string{"HOST", "HARNESS_AUTH_TOKEN"}},
		"bad secret is quiet": {env: []string{"HARNESS_AUTH_TOKEN=canary-7"}, args: []string{"serve"}, code: 2,
			says: []string{"HARNESS_AUTH_TOKEN"}},
		"newer schema": {env: []string{"DATA_DIR=" + filepath.Dir(newer.Path)}, args: []string{"serve"}, code: 2,
			says: []string{"newer harness"}},
		"port in use": {env: []string{fmt.Sprintf("PORT=%d", taken.Addr().(*net.TCPAddr).Port)},
			args: []string{"serve"}, code: 1, says: []string{"PORT"}},
		"no such address": {env: []string{"HOST=192.0.2.1", "HARNESS_AUTH_TOKEN=canary-0123456789-0123456789"},
			args: []string{"serve"}, code: 1, says: []string{"192.0.2.1", "HOST"}},
		"data in a file": {env: []string{"DATA_DIR=" + filepath.Join(newer.Path, "x")}, args: []string{"serve"}, code: 1,
			says: []string{"DATA_DIR"}},
		"no Postgres": {env: []string{"DATABASE_URL=postgres://u:canary-pw@127.0.0.1:1/x"}, args: []string{"serve"},
			code: 1, says: []string{"DATABASE_URL"}},
		"no Postgres to move": {env: []string{"DATABASE_URL=postgres://u:canary-pw@127.0.0.1:1/x"}, args: []string{"migrate"},
			code: 1, says: []string{"DATABASE_URL"}},
		"no such runtime": {env: []string{"HARNESS_RUNTIMES=codex,cohdex"}, args: []string{"serve"}, code: 2,
			says: []string{"HARNESS_RUNTIMES", `"cohdex"`, "can drive codex"}},
		"no such default": {env: []string{"HARNESS_DEFAULT_RUNTIME=cohdex"}, args: []string{"serve"}, code: 2,
			says: []string{"HARNESS_DEFAULT_RUNTIME", `"cohdex"`, "(codex)"}},
		"runtime named twice": {env: []string{"HARNESS_RUNTIMES=codex,codex"}, args: []string{"serve"}, code: 2,
			says: []string{"HARNESS_RUNTIMES", "once"}},
		"no server": {env: []string{"PORT=1"}, args: []string{"healthcheck"}, code: 1,
			says: []string{"no server answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := filepath.Join(t.TempDir(), "data")
			s := &programtest.Site{T: t, Workspace: t.TempDir(), Env: append([]string{
				// A server that gets to listen on its port must not take a port in use.
				"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PORT=0",
				"DATA_DIR=" + data, "LOG_LEVEL=silent", "CODEX_BIN=/nowhere/codex",
			}, c.env...)}
			code, out := s.Command(c.args...)
			if code != c.code || strings.Count(out, "\n") != 1 || strings.Contains(out, "canary") {
				t.Errorf("exit code %d (want %d), output %q", code, c.code, out)
			}
			for _, word := range c.says {
				if !strings.Contains(out, word) {
					t.Errorf("%q does not say %s", out, word)
				}
			}
			if _, err := os.Stat(data); c.args[0] == "restore" && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it left a data directory: %v", err)
			}
		})
	}
}

func makeNewer(t *testing.T, opts database.Options) {
	t.Helper()
	db := dbtest.Connect(t, opts)
	if _, err := migrations.Up(t.Context(), db, filepath.Join(t.TempDir(), "lock")); err != nil {
		t.Fatal(err)
	}
	err := db.Update(t.Context(), func(tx database.Tx) error {
		_, err := tx.ExecContext(t.Context(), `insert into goose_db_version (version_id, is_applied) values (9999, true)`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestSmallCommandsPrintTheirAnswer(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		s := &programtest.Site{T: t, Workspace: t.TempDir(), DataDir: filepath.Join(t.TempDir(), "data")}
		s.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATA_DIR=" + s.DataDir,
			"DATABASE_URL=" + dbtest.URL(t, engine), "OPENAI_API_KEY=canary-key",
		}
		if code, out := s.Command("migrate"); code != 0 || !strings.Contains(out, string(engine)+" schema version") ||
			!strings.Contains(out, "(was 0)") {
			t.Errorf("migrate: %d %q", code, out)
		}
		if code, out := s.Command("migrate"); code != 0 || strings.Contains(out, "(was 0)") {
			t.Errorf("a second migrate: %d %q", code, out)
		}
		if code, out := s.Command("config", "print"); code != 0 || strings.Contains(out, "canary") ||
			!strings.Contains(out, s.DataDir) {
			t.Errorf("config print: %d %q", code, out)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"version"}, &out, &out); code != 0 ||
		!strings.HasPrefix(out.String(), "harness ") {
		t.Errorf("version: %d %q", code, out.String())
	}
	named := out.String()
	out.Reset()
	if code := run(t.Context(), []string{"--version"}, &out, &out); code != 0 || out.String() != named {
		t.Errorf("--version: %d %q, want %q", code, out.String(), named)
	}
	out.Reset()
	if code := run(t.Context(), []string{}, &out, &out); code != 0 || !strings.Contains(out.String(), "harness serve") {
		t.Errorf("no command: %d %q", code, out.String())
	}
}

// A container's health check finds a server that listens on every address. Liveness and readiness need no token, and
// readiness includes runtimes.
func TestHealthcheckReportsTheRuntime(t *testing.T) {
	t.Parallel()
	for codex, want := range map[string]int{"": http.StatusOK, "CODEX_BIN=/nowhere/codex": http.StatusServiceUnavailable} {
		s := programtest.New(t, programtest.WithEnv("HARNESS_AUTH_TOKEN=a-token-of-sixteen-chars", "HARNESS_RUNTIMES=codex", codex))
		server := s.Start("HOST=0.0.0.0")
		_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		check := func() (int, string) { return s.Command("healthcheck", "--host", "0.0.0.0", "--port", port) }
		if want == http.StatusOK {
			server.Eventually("it is ready", func() bool { code, _ := check(); return code == 0 })
		} else if code, out := check(); code != 1 || !strings.Contains(out, "no runtime is available") || strings.Count(out,
			"\n") != 1 {
			t.Errorf("healthcheck: %d %q", code, out)
		}
		for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": want, "/api/ready": want} {
			answer, err := http.Get(server.URL + path) //nolint:noctx // the server is on loopback
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(answer.Body)
			if err := errors.Join(err, answer.Body.Close()); err != nil {
				t.Fatal(err)
			}
			if answer.StatusCode != want || path != "/healthz" &&
				!strings.Contains(string(body), `"store":{"ready":true},"runtimes":[{"name":"codex","state":"`) {
				t.Errorf("%s without the token: %d %s", path, answer.StatusCode, body)
			}
		}
		server.Stop()
		if strings.Contains(server.Log(), "left behind") {
			t.Errorf("a shim that ends is reported as a leftover:\n%s", server.LogTail())
		}
	}
}

// SIGHUP, which a closing terminal sends, stops a server in order; it does not stop a server started under nohup.
func TestAClosedTerminalEndsAServerInOrder(t *testing.T) {
	t.Parallel()
	takeHangups(t)
	server := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex")).Start()
	server.StopBy(syscall.SIGHUP)
	if !strings.Contains(server.Log(), "stopping") {
		t.Errorf("it did not stop in order:\n%s", server.LogTail())
	}
}

// Help shows a command's own flags. Of the server's settings, serve shows the common ones, and all on demand. Other
// commands accept each setting and show where the state is.
func TestHelpShowsFlagsOfTheCommand(t *testing.T) {
	t.Parallel()
	s := &programtest.Site{T: t, Workspace: t.TempDir(), Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}}
	flags := func(args ...string) int { return strings.Count(s.MustRun(args...), "\n      --") }
	if n := flags("serve", "--help"); n < 15 || n > 25 {
		t.Errorf("serve --help shows %d flags", n)
	}
	if n := flags("serve", "--help-all"); n < len(config.Variables())*8/10 {
		t.Errorf("serve --help-all shows %d flags of %d settings", n, len(config.Variables()))
	}
	for _, command := range newRoot(nil).Commands() {
		if command.Hidden || command.Name() == "serve" || !command.Runnable() {
			continue
		}
		if n := flags(command.Name(), "--help"); n > 20 {
			t.Errorf("%s --help shows %d flags", command.Name(), n)
		}
	}
}
