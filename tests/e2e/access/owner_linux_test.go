package access

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"harness/tests/programtest"
)

// A server prints a login link on a terminal, and never into a log.
func TestServePrintsALinkOnATerminal(t *testing.T) {
	t.Parallel()
	s := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced))
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	serve := exec.Command(programtest.Program(t), "serve")
	serve.Env, serve.Dir, serve.Stderr = s.Environ(), s.Workspace, terminal
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	_ = terminal.Close()
	limit := time.AfterFunc(programtest.Patience/4, func() { _ = serve.Process.Kill() }) // which ends the reads below
	defer limit.Stop()
	defer func() {
		_ = serve.Process.Signal(syscall.SIGTERM)
		_ = serve.Wait()
	}()
	for lines := bufio.NewScanner(master); lines.Scan(); {
		base, code, is := strings.Cut(strings.TrimSpace(lines.Text()), "/login#link=")
		if !is {
			continue
		}
		answer, err := http.Post(base+"/api/login", "application/json", strings.NewReader(`{"token":"`+code+`"}`)) //nolint:noctx // a moment
		if err != nil {
			t.Fatal(err)
		}
		if _ = answer.Body.Close(); answer.StatusCode != http.StatusOK || len(answer.Cookies()) != 1 {
			t.Errorf("the link logs in with %d", answer.StatusCode)
		}
		return
	}
	t.Error("no link is printed")
}

// An agent that may read the whole disk finds no owner's token, profile or keyring, of this server or another, and no
// hash of the token.
func TestTokensAreHiddenFromAgents(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	keyring := filepath.Join(home, ".local", "share", "keyrings")
	if err := os.MkdirAll(keyring, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(keyring, "login.keyring"), []byte("canary-keyring"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "visible"), []byte("what agents read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := programtest.New(t, programtest.WithoutAgent(), programtest.WithEnv(unfenced, "HOME="+home))
	neighbor := other.Start()
	s := programtest.New(t, programtest.WithEnv("HOME="+home, "DEFAULT_SANDBOX_MODE=workspace-write",
		"HARNESS_TOOLS=workspace.read", "HARNESS_TOOLS_MODE=auto"))
	server := s.Start()
	secret := filepath.Join(home, "token")
	if err := os.WriteFile(secret, []byte("hrn_canary-of-a-profile-0123456789\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.MustRun("profiles", "set", "elsewhere", "--server", "https://harness.example", "--token", secret)
	if err := os.Remove(secret); err != nil {
		t.Fatal(err)
	}
	server.AwaitRuntime()
	session := server.CreateSession(programtest.Object{"filesystemSandbox": "workspace-write", "approvalPolicy": "never", "cwd": home})
	events := server.Follow("threadId=" + session)
	events.WaitTurn(server.Send(session, "MOCK_CMD[cat "+home+"/visible; cat "+home+"/.config/harness/owner/* "+home+"/.config/harness/tokens/* "+
		keyring+"/* "+s.DataDir+"/owner-token.sha256; ls -A "+home+"/.config/harness | wc -l; echo over]"))
	for _, file := range []string{"visible", ".config/harness/tokens/elsewhere", ".local/share/keyrings/login.keyring"} {
		events.WaitTurn(server.Send(session, programtest.OwnedTool("workspace_read", `{"path":"`+file+`"}`)))
	}
	said := fmt.Sprint(server.Transcript(session))
	if !strings.Contains(said, "what agents read") || !strings.Contains(said, "over") {
		t.Fatalf("the command did not run: %s", said)
	}
	for _, leaked := range []string{owner(s), owner(other), "hrn_canary", "canary-keyring"} {
		if strings.Contains(said, leaked) {
			t.Errorf("an agent reads %s", leaked)
		}
	}
	if hash, err := os.ReadFile(filepath.Join(s.DataDir, "owner-token.sha256")); err != nil || strings.Contains(said, strings.TrimSpace(string(hash))) {
		t.Errorf("an agent reads the hash: %v", err)
	}
	server.Stop()
	neighbor.Stop()
}
