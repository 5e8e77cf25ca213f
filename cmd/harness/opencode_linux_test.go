package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/agenttest"
	"harness/internal/dbtest"
	"harness/runtime/process"
)

// withOpenCode makes a site whose servers drive the real OpenCode beside codex, with the scripted model.
func withOpenCode(t *testing.T, options ...siteOption) *site {
	t.Helper()
	s := newSite(t, append(options, withEnv("HARNESS_RUNTIMES=codex,opencode", "OPENCODE_BIN="+agenttest.Binary(t, "opencode"),
		"HARNESS_RUNTIME_START_TIMEOUT_MS=60000"))...)
	configuration, err := json.Marshal(object{"enabled_providers": []string{"mock"}, "model": "mock/m", "small_model": "mock/m",
		"provider": object{"mock": object{"npm": "@ai-sdk/openai-compatible", "options": object{"apiKey": "canary-of-opencode", "baseURL": s.model.URL()},
			"models": object{"m": object{"tool_call": true, "limit": object{"context": 100_000, "output": 8000}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.env = append(s.env, "OPENCODE_CONFIG_CONTENT="+string(configuration))
	return s
}

// openCodePID is OpenCode's process once it is up.
func (i *instance) openCodePID() string {
	i.t.Helper()
	pid := ""
	i.eventually("OpenCode is up", func() bool {
		_, health := i.call(http.MethodGet, "/api/health", nil)
		for _, one := range health["runtimes"].([]any) {
			if text(one, "name") == "opencode" && text(one, "state") == "ready" {
				pid = text(one.(object)["processes"].([]any)[0], "pid")
			}
		}
		return pid != ""
	})
	return pid
}

// A session of OpenCode through REST alone: an approval outlives a killed server, is answered once, and the turn ends
// once. What OpenCode inherits holds none of the server's secrets, nor its own password where others could read it.
func TestASessionOfOpenCode(t *testing.T) {
	t.Parallel()
	const token, others = "canary-token-0123456789", "canary-of-another-provider"
	for _, engine := range dbtest.Engines() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := withOpenCode(t, withEngine(engine), withEnv("ANTHROPIC_API_KEY="+others, "OPENAI_API_KEY="+others, "AGENT_EXTENSION_RBAC_JWT_SECRET="+token))
			server := s.start()
			server.openCodePID()
			session := server.createSession(object{"runtime": "opencode", "approvalPolicy": "untrusted", "networkAccess": "enabled"})
			server, resumed := s.requireOutlives(server, session, (*instance).openCodePID, nil)
			// The narrowest levels are the rule: with them it has nothing to write with.
			narrow := server.want(http.StatusOK, http.MethodPost, "/api/sessions",
				object{"runtime": "opencode", "filesystemSandbox": "read-only", "networkAccess": "restricted", "approvalPolicy": "never"})
			forbidden := filepath.Join(s.workspace, "forbidden.txt")
			resumed.waitTurn(server.send(text(narrow, "session", "sessionId"), "MOCK_CMD[touch "+forbidden+"] MOCK_PATCH["+forbidden+"]"))
			if _, err := os.Stat(forbidden); err == nil {
				t.Error("a session that may only read wrote a file")
			}
			for name, body := range map[string]object{
				"a sandbox":       {"runtime": "opencode", "filesystemSandbox": "workspace-write"},
				"half a sandbox":  {"runtime": "opencode", "filesystemSandbox": "danger-full-access", "networkAccess": "restricted"},
				"a policy of its": {"runtime": "opencode", "approvalPolicy": "on-failure"},
			} {
				if status, answer := server.call(http.MethodPost, "/api/sessions", body); status != http.StatusBadRequest {
					t.Errorf("%s is answered %d %v", name, status, answer)
				}
			}
			s.requireSecretsKept(server, server.openCodePID(), token, others)
			server.stop()
			if left, err := process.Marked(process.Mark(s.dataDir, "opencode")); err != nil || len(left) != 0 {
				t.Errorf("%v of OpenCode are left, %v", left, err)
			}
		})
	}
}

// requireSecretsKept looks for secrets where they must not be, and for OpenCode's password in its command line and in the log.
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
		if strings.Contains(string(cmdline), secret) || strings.Contains(server.logTail(), secret) || strings.Contains(string(health), secret) {
			s.t.Errorf("%s is in the command line, the log or health", secret)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(string(environ), secret) {
			s.t.Errorf("OpenCode inherits %s", secret)
		}
	}
}
