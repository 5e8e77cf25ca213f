package frontends

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/codextest"
	"harness/tests/outside"
	"harness/tests/programtest"
)

// FE-63: codex's TUI connects to the unix socket in the data directory, which is the user's alone.
func TestTUIOnASocket(t *testing.T) {
	t.Parallel()
	s := programtest.New(t)
	server := s.Start("HARNESS_TRUST_LOCAL=true")
	path := filepath.Join(s.DataDir, "app-server.sock")
	if found, err := os.Stat(path); err != nil || found.Mode().Perm() != 0o600 {
		t.Fatalf("the socket is %v, %v", found, err)
	}
	u := openTUI(s, codextest.Default, "unix://"+path, "-s", "danger-full-access")
	u.await("Ask Codex")
	u.say("MOCK_REPLY[by the socket]")
	u.await("• by the socket")
	server.Kill()
	u.await("Reconnecting")
	s.Start("HARNESS_TRUST_LOCAL=true")
	u.gone("Reconnecting")
	u.say("MOCK_REPLY[again]")
	u.await("• again")
}

// FE-64: an agent's commands do not get through the unix socket, whether its file is hidden from them or not, and
// whatever they change of their environment and parents. Programs outside get codex's protocol alone, and need a token
// where programs of the machine do.
func TestAgentsOnASocket(t *testing.T) {
	t.Parallel()
	outside.Needs(t, "curl")
	for _, confined := range []string{"auto", "off"} {
		t.Run(confined, func(t *testing.T) {
			t.Parallel()
			s := programtest.New(t)
			server := s.Start("HARNESS_TRUST_LOCAL=true", "HARNESS_RUNTIME_CONFINE="+confined)
			server.WaitRuntime()
			path := filepath.Join(s.DataDir, "app-server.sock")
			const upgrade = `curl -s -m 5 -o /dev/null -w '%{http_code}' -H 'Connection: Upgrade' -H 'Upgrade: websocket' ` +
				`-H 'Sec-WebSocket-Version: 13' -H 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==' --unix-socket `
			of := func(path, at string) string { return upgrade + path + " http://localhost" + at }
			for at, want := range map[string]string{"/rpc": "101", "/": "404", "/api/sessions": "404"} {
				if code, _ := exec.Command("sh", "-c", of(path, at)).Output(); string(code) != want { // it times out after 101
					t.Errorf("a program outside is answered %s at %s", code, at)
				}
			}
			session := server.CreateSession(programtest.Object{"approvalPolicy": "never", "filesystemSandbox": "danger-full-access"})
			events := server.Follow("after=0&threadId=" + session)
			script := filepath.Join(s.Workspace, "try.sh")
			out := filepath.Join(s.Workspace, "out")
			text := fmt.Sprintf("PATH=/usr/bin:/bin; echo \"$1 $(%s)\" >> %s\n", of(path, "/rpc"), out)
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			events.WaitTurn(server.Send(session, fmt.Sprintf("MOCK_CMD[sh %[1]s child; env -i sh %[1]s bare; env -i setsid sh -c 'sh %[1]s orphan & exit 0'; sleep 1]", script)))
			var tried string
			server.Eventually("the agent tried all", func() bool {
				all, _ := os.ReadFile(out)
				tried = string(all)
				return strings.Count(tried, "\n") == 3
			})
			if tried := strings.Fields(tried); len(tried) != 6 || strings.Count(strings.Join(tried, " "), " 000") != 3 {
				t.Errorf("an agent's commands are answered %q", tried)
			}
			server.Stop()
			if confined == "off" {
				s.Start("HARNESS_TRUST_LOCAL=false", "HARNESS_RUNTIME_CONFINE=off")
				if code, _ := exec.Command("sh", "-c", of(path, "/rpc")).Output(); string(code) != "401" {
					t.Errorf("without a fence, a program without a token is answered %s", code)
				}
			}
		})
	}
}
