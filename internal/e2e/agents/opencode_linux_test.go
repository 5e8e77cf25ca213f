package agents

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"harness/internal/agenttest"
	"harness/internal/programtest"
)

// withOpenCode makes a site whose servers drive the real OpenCode beside codex, with the scripted model.
func withOpenCode(t *testing.T, options ...programtest.SiteOption) *programtest.Site {
	t.Helper()
	s := programtest.New(t, append(options,
		programtest.WithEnv("HARNESS_RUNTIMES=codex,opencode", "OPENCODE_BIN="+agenttest.Binary(t, "opencode"),
			"HARNESS_RUNTIME_START_TIMEOUT_MS=60000"))...)
	configuration, err := json.Marshal(programtest.Object{"enabled_providers": []string{"mock"}, "model": "mock/m",
		"small_model": "mock/m", "provider": programtest.Object{
			"mock": programtest.Object{"npm": "@ai-sdk/openai-compatible",
				"options": programtest.Object{"apiKey": "canary-of-opencode", "baseURL": s.Model.URL()},
				"models":  programtest.Object{"m": programtest.Object{"tool_call": true, "limit": programtest.Object{"context": 100_000, "output": 8000}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "OPENCODE_CONFIG_CONTENT="+string(configuration))
	return s
}

// requireSecretsKept looks for secrets where they must not be, and for OpenCode's password in its command line and in
// the log.
func requireSecretsKept(s *programtest.Site, server *programtest.Server, pid string, secrets ...string) {
	s.T.Helper()
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	if err != nil {
		s.T.Fatal(err)
	}
	password := ""
	for assignment := range strings.SplitSeq(string(environ), "\x00") {
		if value, is := strings.CutPrefix(assignment, "OPENCODE_SERVER_PASSWORD="); is {
			password = value
		}
		if home, is := strings.CutPrefix(assignment, "HOME="); is && !strings.HasPrefix(home, s.DataDir) {
			s.T.Errorf("its home is %s", home)
		}
	}
	if len(password) != 64 || !strings.Contains(string(environ), "canary-of-opencode") {
		s.T.Errorf("its password has %d characters", len(password))
	}
	cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil {
		s.T.Fatal(err)
	}
	health, _ := json.Marshal(server.Want(http.StatusOK, http.MethodGet, "/api/health", nil))
	for _, secret := range append(secrets, password, "canary-of-opencode") {
		if strings.Contains(string(cmdline), secret) || strings.Contains(server.LogTail(), secret) ||
			strings.Contains(string(health), secret) {
			s.T.Errorf("%s is in the command line, the log or health", secret)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(string(environ), secret) {
			s.T.Errorf("OpenCode inherits %s", secret)
		}
	}
}
