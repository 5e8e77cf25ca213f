package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/lib/trust"
	"harness/internal/platform/database"
	"harness/server/doctor"
	"harness/tests/codextest"
	"harness/tests/dbtest"
	"harness/tests/programtest"
)

// runDoctor runs the command and returns its exit code and findings by name. Every line of the text output must agree
// with them.
func runDoctor(s *programtest.Site, args ...string) (int, map[string][]doctor.Finding) {
	s.T.Helper()
	code, out := s.Command(append([]string{"doctor", "--json"}, args...)...)
	text, _, _ := strings.Cut(out, "\nharness: ")
	var said struct {
		OK       bool
		Findings []doctor.Finding
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		s.T.Fatalf("%v: %d %s", err, code, out)
	}
	if said.OK != (code == 0) || strings.Contains(out, "canary") {
		s.T.Errorf("exit code %d for %s", code, out)
	}
	plainCode, plain := s.Command(append([]string{"doctor"}, args...)...)
	lines := strings.Split(strings.TrimSpace(plain), "\n")
	found := map[string][]doctor.Finding{}
	for i, f := range said.Findings {
		found[f.Name] = append(found[f.Name], f)
		if i >= len(lines) || !strings.HasPrefix(lines[i], f.Status) || !strings.Contains(lines[i], f.Remedy) {
			s.T.Errorf("%v is not line %d of %s", f, i, plain)
		}
	}
	if plainCode != code {
		s.T.Errorf("exit codes %d and %d", code, plainCode)
	}
	return code, found
}

func requireFinding(s *programtest.Site, found map[string][]doctor.Finding, name, status, says string) {
	s.T.Helper()
	for _, f := range found[name] {
		if f.Status == status && strings.Contains(f.Message+f.Remedy, says) {
			return
		}
	}
	s.T.Errorf("%s is not %s with %q: %v", name, status, says, found[name])
}

// On a machine with a working server nothing is broken: before its first start, while it runs, and after it was stopped
// or killed. The doctor creates and changes nothing.
func TestTheDoctorOfAServerThatWorks(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t, programtest.WithEngine(engine), programtest.WithEnv("OPENAI_API_KEY=canary-key"))
			unchanged := func(folder string) {
				t.Helper()
				before, err := trust.HashFolder(folder, nil)
				if err != nil {
					t.Fatal(err)
				}
				code, found := runDoctor(s)
				if after, err := trust.HashFolder(folder, nil); err != nil || after != before || code != 0 {
					t.Errorf("changed (%v), or exit code %d: %v", err, code, found)
				}
			}
			unchanged(filepath.Dir(s.DataDir))
			if _, err := os.Stat(s.DataDir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the data directory is made: %v", err)
			}
			server := s.Start()
			_, port, err := net.SplitHostPort(strings.TrimPrefix(server.URL, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			server.AwaitRuntime()
			code, found := runDoctor(s, "--port", port)
			if code != 0 {
				t.Errorf("exit code %d: %v", code, found)
			}
			requireFinding(s, found, "listening", doctor.OK, "a server is there and ready")
			requireFinding(s, found, "database", doctor.OK, string(engine)+" answers, schema version ")
			requireFinding(s, found, "runtime", doctor.OK, "codex-cli ")
			requireFinding(s, found, "data", doctor.OK, s.DataDir)
			requireFinding(s, found, "space", doctor.OK, "MiB are free")
			requireFinding(s, found, "retention", doctor.OK, "goes by its age")
			requireFinding(s, found, "tokens", doctor.OK, "disabled")
			server.Stop()
			unchanged(s.DataDir)
			s.Start().Kill()
			s.EndRuntimes() // runtimes that write there
			// A socket has no content to compare.
			if err := os.Remove(filepath.Join(s.DataDir, "app-server.sock")); err != nil {
				t.Fatal(err)
			}
			unchanged(s.DataDir)
		})
	}
}

// The doctor names each problem that keeps a server from working in one line with its remedy, and exits with 1. Other
// problems are warnings, and the exit code is 0.
func TestTheDoctorFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	newer := dbtest.Options(t, database.SQLite)
	makeNewer(t, newer)
	readOnly := dbtest.URL(t, database.Postgres)
	mark := filepath.Join(t.TempDir(), "mark")
	for name, c := range map[string]struct {
		env                   []string
		prepare               func(*programtest.Site)
		finding, status, says string
	}{
		"bad setting": {env: []string{"PORT=abc"}, finding: "settings", status: doctor.Broken, says: "PORT"},
		"untrusted .env": {prepare: func(s *programtest.Site) { write(s, 0o600, ".env", "PORT=1\n") }, finding: "settings",
			status: doctor.Broken, says: "harness trust "},
		"not confined": {env: []string{"HARNESS_RUNTIME_CONFINE=off"}, finding: "confinement", status: doctor.Warning,
			says: "can read"},
		"cannot be": {env: []string{"HARNESS_RUNTIME_CONFINE=required", "DATA_DIR=.."}, finding: "confinement",
			status: doctor.Broken, says: "set DATA_DIR"},
		"perhaps cannot be": {env: []string{"DATA_DIR=.."}, finding: "confinement", status: doctor.Warning,
			says: "set DATA_DIR"},
		"no such user": {env: []string{"HARNESS_RUNTIME_USER=nobody-of-this-name"}, finding: "confinement",
			status: doctor.Broken, says: "HARNESS_RUNTIME_USER"},
		"no codex": {env: []string{"CODEX_BIN=/nowhere/codex"}, finding: "runtime", status: doctor.Broken,
			says: "CODEX_BIN"},
		"no program": {env: []string{"CODEX_BIN=/bin/false"}, finding: "runtime", status: doctor.Broken,
			says: "does not start"},
		"no home of codex": {env: []string{"CODEX_HOME=/nowhere"}, finding: "runtime", status: doctor.Broken,
			says: "/nowhere"},
		"no login": {finding: "runtime", status: doctor.Warning, says: "OPENAI_API_KEY"},
		"data of others": {env: []string{"DATA_DIR="}, prepare: func(s *programtest.Site) { write(s, 0o600, ".data/harness.db", "x") },
			finding: "data", status: doctor.Broken, says: "harness trust "},
		"data in a file": {env: []string{"DATA_DIR=" + newer.Path}, finding: "data", status: doctor.Broken,
			says: "not a directory"},
		"open data": {env: []string{"DATA_DIR=d"}, prepare: func(s *programtest.Site) {
			write(s, 0o600, "d/x", "")
			if err := os.Chmod(filepath.Join(s.Workspace, "d"), 0o755); err != nil { //nolint:gosec // what is tested
				t.Error(err)
			}
		}, finding: "data", status: doctor.Warning, says: "chmod 700"},
		"newer schema": {env: []string{"DATA_DIR=" + filepath.Dir(newer.Path)}, finding: "database", status: doctor.Broken,
			says: "newer harness"},
		"damaged": {prepare: func(s *programtest.Site) { write(s, 0o600, "d/harness.db", strings.Repeat("no database ", 1000)) },
			env: []string{"DATA_DIR=d"}, finding: "database", status: doctor.Broken, says: "is not a SQLite database"},
		"no Postgres": {env: []string{"DATABASE_URL=postgres://u:canary-pw@127.0.0.1:1/x"}, finding: "database",
			status: doctor.Broken, says: "DATABASE_URL"},
		"read-only Postgres": {env: []string{"DATABASE_URL=" + readOnly + "&default_transaction_read_only=on"},
			finding: "database", status: doctor.Broken, says: "takes no writes"},
		"events for ever": {env: []string{"HARNESS_RETENTION=journal-days=0"}, finding: "retention", status: doctor.Warning,
			says: "journal-days"},
		"records for ever": {env: []string{"HARNESS_RETENTION=records-days=0,records=0"}, finding: "retention",
			status: doctor.Warning, says: "records-days"},
		"open bind": {env: []string{"HOST=0.0.0.0"}, finding: "listening", status: doctor.Broken, says: "HARNESS_AUTH_TOKEN"},
		"open on purpose": {env: []string{"HOST=0.0.0.0", "HARNESS_INSECURE_NO_AUTH=true"}, finding: "listening",
			status: doctor.Warning, says: "proxy in front"},
		"no file of providers": {env: []string{"HARNESS_OIDC_FILE=/nowhere/oidc.json"}, finding: "logins", status: doctor.Broken,
			says: "HARNESS_OIDC_FILE /nowhere/oidc.json: cannot be read"},
		"a provider without an issuer": {prepare: func(s *programtest.Site) {
			write(s, 0o600, "oidc.json", `[{"name":"corp","clientId":"harness"}]`)
			s.Env = append(s.Env, "HARNESS_OIDC_FILE="+filepath.Join(s.Workspace, "oidc.json"))
		}, finding: "logins", status: doctor.Broken, says: "provider 1 (corp)"},
		"providers": {prepare: func(s *programtest.Site) {
			write(s, 0o600, "oidc.json", `[{"name":"corp","issuer":"https://corp.example","clientId":"harness"}]`)
			s.Env = append(s.Env, "HARNESS_OIDC_FILE="+filepath.Join(s.Workspace, "oidc.json"))
		}, finding: "logins", status: doctor.OK, says: "names 1 providers"},
		"another program": {env: []string{"PORT=" + other.URL[strings.LastIndex(other.URL, ":")+1:]}, finding: "listening",
			status: doctor.Broken, says: "another PORT"},
		"an extension without consent": {prepare: func(s *programtest.Site) { write(s, 0o600, "agents/x/events.mjs", evil(mark)) },
			finding: "extensions", status: doctor.Warning, says: "harness trust "},
		"tokens that never expire": {
			env:     []string{"AGENT_EXTENSION_RBAC_MODE=jwt", "AGENT_EXTENSION_RBAC_JWT_SECRET=canary-secret"},
			finding: "tokens", status: doctor.Warning, says: "REQUIRE_EXP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withoutDataDir(t)
			s.Env = append(s.Env,
				append([]string{"CODEX_BIN=" + codextest.Binary(t, codextest.Default),
					"DATA_DIR=" + filepath.Join(t.TempDir(), "data")}, c.env...)...)
			if c.prepare != nil {
				c.prepare(s)
			}
			code, found := runDoctor(s)
			requireFinding(s, found, c.finding, c.status, c.says)
			if broken := c.status == doctor.Broken; (code == 1) != broken || code > 1 {
				t.Errorf("exit code %d: %v", code, found)
			}
		})
	}
	t.Cleanup(func() {
		if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
			t.Error(fmt.Errorf("an extension ran: %w", err))
		}
	})
}

// The doctor reports whether a chosen cloud has the variables it needs, and which variables of another cloud no agent
// gets.
func TestDoctorReportsClouds(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithEnv("HARNESS_RUNTIMES=codex,claude,gemini", "CLAUDE_CODE_USE_BEDROCK=1",
		"AWS_ACCESS_KEY_ID=canary", "AWS_SECRET_ACCESS_KEY=canary", "GOOGLE_CLOUD_PROJECT=canary"))
	_, found := runDoctor(s)
	requireFinding(s, found, "providers", doctor.Warning, "Amazon Bedrock is chosen, and a region is not there")
	requireFinding(s, found, "providers", doctor.Warning, "AWS_REGION")
	requireFinding(s, found, "providers", doctor.OK, "gemini: Google Vertex AI is not chosen, so it does not get GOOGLE_CLOUD_PROJECT")
	s.Env = append(s.Env, "AWS_REGION=canary")
	_, found = runDoctor(s)
	requireFinding(s, found, "providers", doctor.OK, "claude: Amazon Bedrock, with AWS_ACCESS_KEY_ID, AWS_REGION, AWS_SECRET_ACCESS_KEY")
	server := s.Start()
	code, said := server.Ask(http.MethodGet, "/api/runtimes", nil)
	for _, part := range []string{`"name":"bedrock","title":"Amazon Bedrock","chosen":true`, `"passed":["AWS_ACCESS_KEY_ID","AWS_REGION",`,
		`{"name":"GOOGLE_CLOUD_PROJECT","reason":"Google Vertex AI is not chosen; it is with GOOGLE_GENAI_USE_VERTEXAI=true"}`,
		`"auth":{"state":"found","credentials":["cloud"]`} {
		if !strings.Contains(said, part) {
			t.Errorf("%d without %s: %s", code, part, said)
		}
	}
	if strings.Contains(said, "canary") {
		t.Errorf("a value is shown: %s", said)
	}
	server.Stop()
}
