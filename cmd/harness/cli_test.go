package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/database"
	"harness/internal/dbtest"
	"harness/migrations"
)

// A setting that cannot be used ends the command with exit code 2 and one line that names it and what is allowed.
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
		"bad value":           {env: []string{"PORT=abc"}, args: []string{"serve"}, code: 2, says: []string{"PORT", `"abc"`, "65535"}},
		"bad flag":            {args: []string{"serve", "--port", "80000"}, code: 2, says: []string{"PORT", `"80000"`}},
		"unknown flag":        {args: []string{"serve", "--nonsense"}, code: 2, says: []string{"--nonsense"}},
		"unknown command":     {args: []string{"bogus"}, code: 2, says: []string{`"bogus"`}},
		"open bind":           {env: []string{"HOST=0.0.0.0"}, args: []string{"serve"}, code: 2, says: []string{"HOST", "HARNESS_AUTH_TOKEN"}},
		"bad secret is quiet": {env: []string{"HARNESS_AUTH_TOKEN=canary-7"}, args: []string{"serve"}, code: 2, says: []string{"HARNESS_AUTH_TOKEN"}},
		"newer schema":        {env: []string{"DATA_DIR=" + filepath.Dir(newer.Path)}, args: []string{"serve"}, code: 2, says: []string{"newer harness"}},
		"port in use":         {env: []string{fmt.Sprintf("PORT=%d", taken.Addr().(*net.TCPAddr).Port)}, args: []string{"serve"}, code: 1, says: []string{"PORT"}},
		"no such address":     {env: []string{"HOST=192.0.2.1", "HARNESS_AUTH_TOKEN=canary-0123456789"}, args: []string{"serve"}, code: 1, says: []string{"192.0.2.1", "HOST"}},
		"data in a file":      {env: []string{"DATA_DIR=" + filepath.Join(newer.Path, "x")}, args: []string{"serve"}, code: 1, says: []string{"DATA_DIR"}},
		"no Postgres":         {env: []string{"DATABASE_URL=postgres://u:canary-pw@127.0.0.1:1/x"}, args: []string{"serve"}, code: 1, says: []string{"DATABASE_URL"}},
		"no Postgres to move": {env: []string{"DATABASE_URL=postgres://u:canary-pw@127.0.0.1:1/x"}, args: []string{"migrate"}, code: 1, says: []string{"DATABASE_URL"}},
		"no such runtime":     {env: []string{"HARNESS_RUNTIMES=codex,cohdex"}, args: []string{"serve"}, code: 2, says: []string{"HARNESS_RUNTIMES", `"cohdex"`, "can drive codex"}},
		"no such default":     {env: []string{"HARNESS_DEFAULT_RUNTIME=cohdex"}, args: []string{"serve"}, code: 2, says: []string{"HARNESS_DEFAULT_RUNTIME", `"cohdex"`, "(codex)"}},
		"runtime named twice": {env: []string{"HARNESS_RUNTIMES=codex,codex"}, args: []string{"serve"}, code: 2, says: []string{"HARNESS_RUNTIMES", "once"}},
		"no server":           {env: []string{"PORT=1"}, args: []string{"healthcheck"}, code: 1, says: []string{"no server answers"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &site{t: t, workspace: t.TempDir(), env: append([]string{
				runAsHarness + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATA_DIR=" + filepath.Join(t.TempDir(), "data"),
				"LOG_LEVEL=silent", "CODEX_BIN=/nowhere/codex",
			}, c.env...)}
			code, out := s.command(c.args...)
			if code != c.code || strings.Count(out, "\n") != 1 || strings.Contains(out, "canary") {
				t.Errorf("exit code %d (want %d), output %q", code, c.code, out)
			}
			for _, word := range c.says {
				if !strings.Contains(out, word) {
					t.Errorf("%q does not say %s", out, word)
				}
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

func TestSmallCommandsTellWhatTheyAreAskedFor(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		s := &site{t: t, workspace: t.TempDir(), dataDir: filepath.Join(t.TempDir(), "data")}
		s.env = []string{
			runAsHarness + "=1", "PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "DATA_DIR=" + s.dataDir,
			"DATABASE_URL=" + dbtest.URL(t, engine), "OPENAI_API_KEY=canary-key",
		}
		if code, out := s.command("migrate"); code != 0 || !strings.Contains(out, string(engine)+" schema version") || !strings.Contains(out, "(was 0)") {
			t.Errorf("migrate: %d %q", code, out)
		}
		if code, out := s.command("migrate"); code != 0 || strings.Contains(out, "(was 0)") {
			t.Errorf("a second migrate: %d %q", code, out)
		}
		if code, out := s.command("config", "print"); code != 0 || strings.Contains(out, "canary") || !strings.Contains(out, s.dataDir) {
			t.Errorf("config print: %d %q", code, out)
		}
	}
	var out bytes.Buffer
	if code := run(t.Context(), []string{"version"}, &out, &out); code != 0 || !strings.HasPrefix(out.String(), "harness ") {
		t.Errorf("version: %d %q", code, out.String())
	}
	out.Reset()
	if code := run(t.Context(), []string{}, &out, &out); code != 0 || !strings.Contains(out.String(), "harness serve") {
		t.Errorf("no command: %d %q", code, out.String())
	}
}

// A container's health check needs the token, and finds a server that listens on every address.
func TestHealthcheckFindsTheServer(t *testing.T) {
	t.Parallel()
	s := newSite(t, withEnv("HARNESS_AUTH_TOKEN=a-token-of-sixteen-chars", "CODEX_BIN=/nowhere/codex"))
	server := s.start("HOST=0.0.0.0")
	_, port, err := net.SplitHostPort(strings.TrimPrefix(server.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if code, out := s.command("healthcheck", "--host", "0.0.0.0", "--port", port); code != 0 {
		t.Errorf("healthcheck: %d %q", code, out)
	}
	server.stop()
}
