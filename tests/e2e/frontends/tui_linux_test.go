package frontends

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/tests/codextest"
	"harness/tests/outside"
	"harness/tests/polling"
	"harness/tests/programtest"
)

// tui is codex's TUI in a terminal.
type tui struct {
	t      *testing.T
	socket string
	home   string
}

// openTUI starts codex's TUI on a server. flags are its own.
func openTUI(s *programtest.Site, version codextest.Version, url string, flags ...string) *tui {
	s.T.Helper()
	home := tuiHome(s, version)
	u := &tui{t: s.T, socket: filepath.Join(home, "tmux"), home: home}
	u.start(s.Workspace, append([]string{codextest.Binary(s.T, version), "--remote", url}, flags...)...)
	s.T.Cleanup(u.end)
	return u
}

// tuiHome makes a home in which the TUI trusts the workspace.
func tuiHome(s *programtest.Site, version codextest.Version) string {
	s.T.Helper()
	outside.Needs(s.T, "tmux")
	return codextest.Home(s.T, s.Model.URL(), codextest.For(version),
		codextest.Config(fmt.Sprintf("[projects.%q]\ntrust_level = \"trusted\"", s.Workspace)))
}

func (u *tui) start(folder string, command ...string) {
	u.t.Helper()
	config := filepath.Join(u.home, "tmux.conf") // the last screen of a TUI that ends stays
	if err := os.WriteFile(config, []byte("set-option -g remain-on-exit on\n"), 0o600); err != nil {
		u.t.Fatal(err)
	}
	args := append([]string{"-f", config, "new-session", "-d", "-x", "110", "-y", "40", "-c", folder, "env",
		"CODEX_HOME=" + u.home, "RUST_LOG=off"}, command...)
	if out, err := u.tmux(args...); err != nil {
		u.t.Fatalf("start the TUI: %v\n%s", err, out)
	}
}

func (u *tui) tmux(args ...string) (string, error) {
	out, err := exec.Command("tmux", append([]string{"-S", u.socket}, args...)...).CombinedOutput()
	return string(out), err
}

func (u *tui) end() { _, _ = u.tmux("kill-server") }

// screen returns what the terminal shows, with what scrolled out of it.
func (u *tui) screen() string {
	text, _ := u.tmux("capture-pane", "-p", "-S", "-200")
	return text
}

// await waits until the screen shows a text.
func (u *tui) await(text string) string {
	u.t.Helper()
	screen := ""
	if !polling.Until(programtest.Patience, func() bool {
		screen = u.screen()
		return strings.Contains(screen, text) || strings.Contains(screen, "Pane is dead")
	}) || !strings.Contains(screen, text) {
		u.t.Fatalf("the TUI never showed %q:\n%s", text, screen)
	}
	return screen
}

// gone waits until the screen no longer shows a text.
func (u *tui) gone(text string) {
	u.t.Helper()
	if !polling.Until(programtest.Patience, func() bool { return !strings.Contains(u.screen(), text) }) {
		u.t.Fatalf("the TUI still shows %q:\n%s", text, u.screen())
	}
}

// press sends keys by their names.
func (u *tui) press(keys ...string) {
	u.t.Helper()
	if out, err := u.tmux(append([]string{"send-keys"}, keys...)...); err != nil {
		u.t.Fatalf("press %v: %v\n%s", keys, err, out)
	}
}

// answer answers a prompt with a key. A prompt that just came takes no key.
func (u *tui) answer(prompt, key string) {
	u.t.Helper()
	u.await(prompt)
	for range 10 {
		u.press(key)
		if polling.Until(5*time.Second, func() bool { return !strings.Contains(u.screen(), prompt) }) {
			return
		}
	}
	u.t.Fatalf("the TUI still shows %q:\n%s", prompt, u.screen())
}

// enter types a text and presses Enter until a condition holds: an Enter right behind a text is a part of a paste.
func (u *tui) enter(text string, done func(screen string) bool) {
	u.t.Helper()
	if out, err := u.tmux("send-keys", "-l", text); err != nil {
		u.t.Fatalf("type: %v\n%s", err, out)
	}
	u.await(text[:min(len(text), 20)])
	for range 60 { // a busy machine starts slowly
		u.press("Enter")
		if polling.Until(2*time.Second, func() bool { return done(u.screen()) }) {
			return
		}
	}
	u.t.Fatalf("the TUI did not send %q:\n%s", text, u.screen())
}

// say types a message and sends it.
func (u *tui) say(text string) {
	u.t.Helper()
	u.enter(text, func(screen string) bool {
		return strings.Contains(screen, "Ask Codex") || strings.Contains(screen, "Would you like to run")
	})
}

// freePort returns a port for a server that keeps it over a restart.
func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if closed := listener.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
	}
	return port
}

// theSession returns the only session of a server.
func theSession(server *programtest.Server) string {
	server.T.Helper()
	type list struct{ Data []struct{ SessionID string } }
	all := programtest.Get[list](server, "/api/sessions").Data
	if len(all) != 1 {
		server.T.Fatalf("the server has the sessions %v", all)
	}
	return all[0].SessionID
}

// FE-21: codex's TUI works on sessions of codex and of Claude Code: a new session, a turn, an approval that runs a
// command once, a server killed while it asks, and the session resumed by another TUI.
func TestTheTUIWorksOnEveryRuntime(t *testing.T) {
	t.Parallel()
	for _, version := range []codextest.Version{codextest.Default, codextest.Recorded} { // older ones know no --remote
		for _, runtime := range []string{"codex", "claude"} {
			t.Run(codextest.Number(t, version)+"/"+runtime, func(t *testing.T) {
				t.Parallel()
				s := programtest.WithClaude(t)
				port := freePort(t)
				server := s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
				url := "ws://127.0.0.1:" + port
				u := openTUI(s, version, url, "-m", runtime, "-s", "danger-full-access")
				u.await("Ask Codex")
				u.say("MOCK_REPLY[first answer]")
				u.await("• first answer")

				ran := filepath.Join(s.Workspace, "ran.txt")
				u.say("MOCK_CMD[echo once >> " + ran + "]")
				u.await("Would you like to run")
				server.Kill()
				u.await("Reconnecting")
				server = s.Start("PORT="+port, "HARNESS_TRUST_LOCAL=true")
				u.gone("Reconnecting")
				u.answer("Would you like to run", "y")
				server.Eventually("the command ran", func() bool { _, err := os.Stat(ran); return err == nil })
				session := theSession(server)
				server.Eventually("the turn ended", func() bool {
					return programtest.Get[struct{ Session struct{ State string } }](server, "/api/sessions/"+session+"?limit=1").Session.State == "idle"
				})
				if text, err := os.ReadFile(ran); err != nil || string(text) != "once\n" {
					t.Errorf("the command wrote %q, %v", text, err)
				}
				u.end()

				again := openTUI(s, version, url, "resume", session)
				screen := again.await("first answer")
				if n := strings.Count(screen, "• first answer"); n != 1 {
					t.Errorf("the answer is shown %d times:\n%s", n, screen)
				}
				again.say("MOCK_REPLY[last answer]")
				again.await("• last answer")
				server.Stop()
			})
		}
	}
}
