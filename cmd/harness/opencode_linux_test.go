package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"harness/internal/agenttest"
)

// withOpenCode makes a site whose servers drive the real OpenCode beside codex, with the scripted model.
func withOpenCode(t *testing.T, options ...siteOption) *site {
	t.Helper()
	s := newSite(t, append(options,
		withEnv("HARNESS_RUNTIMES=codex,opencode", "OPENCODE_BIN="+agenttest.Binary(t, "opencode"),
			"HARNESS_RUNTIME_START_TIMEOUT_MS=60000"))...)
	configuration, err := json.Marshal(object{"enabled_providers": []string{"mock"}, "model": "mock/m",
		"small_model": "mock/m", "provider": object{
			"mock": object{"npm": "@ai-sdk/openai-compatible",
				"options": object{"apiKey": "canary-of-opencode", "baseURL": s.model.URL()},
				"models":  object{"m": object{"tool_call": true, "limit": object{"context": 100_000, "output": 8000}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "OPENCODE_CONFIG_CONTENT="+string(configuration))
	return s
}

// requireSecretsKept looks for secrets where they must not be, and for OpenCode's password in its command line and in
// the log.
func (s *site) requireSecretsKept(server *instance, pid string, secrets ...string) {
	s.t.Helper()
	environ, err := os.ReadFile("/proc/" + pid + "/environ")
	if err != nil {
		s.t.Fatal(err)
	}
	password := ""
	for assignment := range strings.SplitSeq(string(environ), "\x00") {
		if value, is := strings.CutPrefix(assignment, "OPENCODE_SERVER_PASSWORD="); is {
			password = value
		}
		if home, is := strings.CutPrefix(assignment, "HOME="); is && !strings.HasPrefix(home, s.dataDir) {
			s.t.Errorf("its home is %s", home)
		}
	}
	if len(password) != 64 || !strings.Contains(string(environ), "canary-of-opencode") {
		s.t.Errorf("its password has %d characters", len(password))
	}
	cmdline, err := os.ReadFile("/proc/" + pid + "/cmdline")
	if err != nil {
		s.t.Fatal(err)
	}
	health, _ := json.Marshal(server.want(http.StatusOK, http.MethodGet, "/api/health", nil))
	for _, secret := range append(secrets, password, "canary-of-opencode") {
		if strings.Contains(string(cmdline), secret) || strings.Contains(server.logTail(), secret) ||
			strings.Contains(string(health), secret) {
			s.t.Errorf("%s is in the command line, the log or health", secret)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(string(environ), secret) {
			s.t.Errorf("OpenCode inherits %s", secret)
		}
	}
}
