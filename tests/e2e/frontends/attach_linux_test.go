package frontends

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/codextest"
	"harness/tests/programtest"
)

const ownersToken = "the-owner-of-this-very-test"

// attach runs harness attach in a terminal, with what env adds to the environment of a site's user.
func attach(s *programtest.Site, env []string, args ...string) *tui {
	s.T.Helper()
	u := &tui{t: s.T, home: tuiHome(s, codextest.Default)}
	u.socket = filepath.Join(u.home, "tmux")
	env = append([]string{"HOME=" + u.home, "CODEX_BIN=" + codextest.Binary(s.T, codextest.Default)}, env...)
	u.start(s.Workspace, append(env, append([]string{programtest.Program(s.T), "attach"}, args...)...)...)
	s.T.Cleanup(u.end)
	return u
}

// FE-81, FE-83, FE-86: harness attach runs codex's TUI with the token of a profile, which no command line has. A viewer only
// reads, and a revoked token ends what it opened. A prompt is gone from every TUI once one decides, or REST.
func TestAttachRunsTheTUI(t *testing.T) {
	t.Parallel()
	s := programtest.WithClaude(t, programtest.WithEnv("HARNESS_AUTH_TOKEN="+ownersToken, "HARNESS_TOKEN="+ownersToken))
	port := freePort(t)
	server := s.Start("PORT=" + port)
	owner := func(args ...string) string {
		return strings.TrimSpace(s.MustRun(append(args, "-q", "--url", "http://127.0.0.1:"+port)...))
	}
	operator, viewer := owner("tokens", "create", "mia", "--role", "operator"), owner("tokens", "create", "eve", "--role", "viewer")
	config := t.TempDir()
	profile := func(name, token string) []string {
		file := filepath.Join(config, name)
		if err := os.WriteFile(file, []byte(token), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), programtest.Program(t), "profiles", "set", name,
			"--server", "http://127.0.0.1:"+port, "--token", file)
		cmd.Env = append(s.Environ(), "XDG_CONFIG_HOME="+config)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("profile %s: %v\n%s", name, err, out)
		}
		return []string{"XDG_CONFIG_HOME=" + config, "HARNESS_PROFILE=" + name}
	}
	u := attach(s, profile("mia", operator), "--runtime", "claude", "-s", "danger-full-access", "--cwd", s.Workspace)
	u.await("Ask Codex")
	u.say("MOCK_REPLY[first answer]")
	u.await("• first answer")
	if lines, err := exec.CommandContext(t.Context(), "ps", "-eo", "args").Output(); err != nil || strings.Contains(string(lines), operator) {
		t.Errorf("the command lines have the token, or cannot be read: %v", err)
	}
	session := owner("sessions", "list")
	eve := attach(s, profile("eve", viewer), session)
	eve.await("• first answer")
	eve.enter("MOCK_REPLY[not mine]", func(screen string) bool { return strings.Contains(screen, "viewer") })

	ran := filepath.Join(s.Workspace, "ran")
	u.say("run MOCK_CMD[echo once >> " + ran + "]")
	bob := attach(s, profile("bob", owner("tokens", "create", "bob", "--role", "operator")), session)
	for _, one := range []*tui{u, bob} {
		one.await("Would you like to run")
	}
	bob.answer("Would you like to run", "y")
	u.await("• Tool said")
	u.gone("Would you like to run")
	if text, err := os.ReadFile(ran); err != nil || string(text) != "once\n" {
		t.Errorf("the command wrote %q, %v", text, err)
	}
	u.press("F2")
	u.await("Already accepted by token:bob.")
	u.press("Escape")
	bob.await("Ask Codex")
	bob.say("again MOCK_CMD[echo twice >> " + ran + "]")
	for _, one := range []*tui{u, bob} {
		one.await("Would you like to run")
	}
	owner("approvals", "decline", owner("approvals", "list"), "--token-file", filepath.Join(config, "bob"))
	for _, one := range []*tui{u, bob} {
		one.gone("Would you like to run")
	}
	bob.press("F2")
	bob.await("Already declined by token:bob.")

	owner("tokens", "revoke", "mia")
	u.await("Reconnecting")
	if screen := u.screen(); strings.Contains(screen, "not mine") {
		t.Errorf("a viewer's message was sent:\n%s", screen)
	}
	again := attach(s, []string{"XDG_CONFIG_HOME=" + config, "HARNESS_PROFILE=mia"}, session)
	again.await("token")
	server.Stop()
}

// FE-82: what the TUI cannot explain, harness attach says first, with the remedy.
func TestAttachSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	port := freePort(t)
	server := s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
	closed := programtest.New(t, programtest.WithEnv("CODEX_BIN=/nowhere/codex", "HARNESS_DOORS=none"))
	other := freePort(t)
	shut := closed.Start("PORT="+other, "HARNESS_TRUST_LOCAL=true")
	url := "http://127.0.0.1:" + port
	old := codextest.Binary(t, codextest.Oldest)
	for _, one := range []struct {
		env  string
		args []string
		want string
	}{
		{"CODEX_BIN=/nowhere/codex", []string{"--url", url}, "codex is missing"},
		{"CODEX_BIN=" + old, []string{"--url", url}, "cannot attach: install 0.169 or later"},
		{"CODEX_BIN=/bin/false", []string{"--url", url}, "/bin/false"},
		{"", []string{"--url", "http://127.0.0.1:1"}, "no server answers at http://127.0.0.1:1"},
		{"", []string{"--url", url + "/harness"}, "codex's TUI accepts no path"},
		{"", []string{"--url", "http://127.0.0.1:" + other}, "add app-server to its HARNESS_DOORS"},
		{"", []string{"--url", url, "00000000-0000-7000-8000-000000000000"}, "check the id"},
		{"", []string{"--url", url, "-m", "claude", "00000000-0000-7000-8000-000000000000"}, "needs a new session"},
	} {
		cmd := exec.CommandContext(t.Context(), programtest.Program(t), append([]string{"attach"}, one.args...)...)
		cmd.Env = append(s.Environ(), one.env)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), one.want) || strings.Count(string(out), "\n") != 1 {
			t.Errorf("attach %v with %q says %q, %v", one.args, one.env, out, err)
		}
	}
	server.Stop()
	shut.Stop()
}
