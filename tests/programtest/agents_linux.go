package programtest

import (
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/agenttest"
)

// ClaudeKey is the key of Claude Code's model in these tests, which must not leak.
const ClaudeKey = "sk-ant-planted-8d1c5e"

// WithClaude makes a site with codex and the real Claude Code, on the same scripted model.
func WithClaude(t *testing.T, options ...SiteOption) *Site {
	t.Helper()
	s := New(t, append(options, WithEnv("HARNESS_RUNTIMES=codex,claude", "CLAUDE_BIN="+agenttest.Binary(t, "claude"),
		"ANTHROPIC_API_KEY="+ClaudeKey, StartTimeout))...)
	s.Env = append(s.Env, "ANTHROPIC_BASE_URL="+s.Model.Root())
	return s
}

// StartTimeout allows for a busy processor, because some agents need several CPU seconds to start.
const StartTimeout = "HARNESS_RUNTIME_LIMITS=start-ms=180000"

// WithOpenCode makes a site with codex and the real OpenCode, on the scripted model.
func WithOpenCode(t *testing.T, options ...SiteOption) *Site {
	t.Helper()
	s := New(t, append(options,
		WithEnv("HARNESS_RUNTIMES=codex,opencode", "OPENCODE_BIN="+agenttest.Binary(t, "opencode"),
			StartTimeout))...)
	configuration, err := json.Marshal(Object{"enabled_providers": []string{"mock"}, "model": "mock/m",
		"small_model": "mock/m", "provider": Object{
			"mock": Object{"npm": "@ai-sdk/openai-compatible",
				"options": Object{"apiKey": "canary-of-opencode", "baseURL": s.Model.URL()},
				"models":  Object{"m": Object{"tool_call": true, "limit": Object{"context": 100_000, "output": 8000}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.Env = append(s.Env, "OPENCODE_CONFIG_CONTENT="+string(configuration))
	return s
}

// ClaudeSession opens a session without a sandbox; only approvals restrict it.
func (i *Server) ClaudeSession() string {
	i.T.Helper()
	return i.CreateSession(Object{"runtime": "claude", "approvalPolicy": "untrusted",
		"filesystemSandbox": "danger-full-access", "networkAccess": "enabled"})
}

// Unprivileged is a user id without privileges, for a server that does not run as root.
const Unprivileged = 65534

// Become makes another user the owner of the site, with a copy of the program that this user can start.
func (s *Site) Become(user int) {
	s.T.Helper()
	s.User = user
	folder := s.T.TempDir()
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil { //nolint:gosec // for the other user
		s.T.Fatal(err)
	}
	copied := func(args ...string) {
		if out, err := exec.Command("cp", args...).CombinedOutput(); err != nil {
			s.T.Fatalf("cp %v: %v %s", args, err, out)
		}
	}
	shared := s.Program
	s.Program = filepath.Join(folder, "harness")
	copied(shared, s.Program)
	if err := os.MkdirAll(s.DataDir, 0o700); err != nil {
		s.T.Fatal(err)
	}
	s.Own(s.DataDir)
	for i, assignment := range s.Env {
		if home, is := strings.CutPrefix(assignment, "CODEX_HOME="); is {
			s.Own(home)
		}
		if bin, is := strings.CutPrefix(assignment, "CODEX_BIN="); is {
			// Copy the whole package, because codex finds its helpers next to itself, and this user may have no access to the
			// cache.
			packaged, _, _ := strings.Cut(bin, "/vendor/")
			if exec.Command("cp", "-rl", packaged, folder).Run() != nil {
				copied("-r", packaged, folder)
			}
			s.Env[i] = "CODEX_BIN=" + strings.Replace(bin, filepath.Dir(packaged), folder, 1)
		}
	}
}

// Own makes the site's user the owner of a folder.
func (s *Site) Own(folder string) {
	s.T.Helper()
	if s.User == 0 {
		return
	}
	if err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, s.User, s.User)
	}); err != nil {
		s.T.Fatal(err)
	}
}
