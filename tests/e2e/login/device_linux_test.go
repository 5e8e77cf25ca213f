package login

import (
	"bufio"
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"harness/tests/oidctest"
	"harness/tests/programtest"
)

// terminal creates a pseudo-terminal: near returns the text written to far.
func terminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close() })
	if err := unix.IoctlSetPointerInt(int(near.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(near.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	far, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}

// A person logs in the command line at a terminal, with a code entered in a browser. The login is stored in the
// profile, like tokens. After its end, the command explains how to log in again.
func TestACommandLineLogsIn(t *testing.T) {
	t.Parallel()
	address, to := front(t)
	provider := oidctest.Start(t, oidctest.Config{Clients: []map[string]any{client("harness", address, "corp")}, Claims: []string{"groups"},
		Accounts: map[string]map[string]any{"ann": {"name": "Ann Lee", "groups": "engineers"}}})
	file := providers(t, map[string]any{"name": "corp", "issuer": provider.URL, "clientId": "harness", "clientSecretFile": "secret", "roleClaim": "groups"})
	server := start(t, file)
	to(server)
	person := programtest.New(t, programtest.WithoutAgent())
	config := t.TempDir()
	person.Env = append(person.Env, "XDG_CONFIG_HOME="+config)
	near, far := terminal(t)
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	command := exec.CommandContext(ctx, programtest.Program(t), "login", "--provider", "corp", "--url", address)
	command.Env, command.Dir, command.Stdin, command.Stdout, command.Stderr = person.Env, person.Workspace, far, far, far
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	_ = far.Close() // the command has a copy
	var shown strings.Builder
	lines := bufio.NewScanner(near)
	for lines.Scan() { // until the command ends, which closes the terminal
		shown.WriteString(lines.Text() + "\n")
		if at := regexp.MustCompile(`^open (\S+)`).FindStringSubmatch(lines.Text()); at != nil {
			status, _, page := provider.Enter(oidctest.Browser(t), strings.TrimSpace(at[1]), url.Values{"login": {"ann"}, "password": {"x"}})
			if status != http.StatusOK {
				t.Errorf("the provider shows %d %s", status, page)
			}
		}
	}
	if err := command.Wait(); err != nil || !strings.Contains(shown.String(), "Signed in as Ann Lee (operator)") {
		t.Fatalf("%v\n%s", err, shown.String())
	}
	ask := func(ends int, says string, command ...string) {
		t.Helper()
		if code, out := person.Command(command...); code != ends || !strings.Contains(out, says) {
			t.Errorf("then the command line is %d %s, want %s", code, out, says)
		}
	}
	ask(0, `"oidc:corp:ann"`, "api", "GET", "/api/me")
	kept := filepath.Join(config, "harness", "tokens", "corp")
	if info, err := os.Stat(kept); err != nil || info.Mode().Perm() != fs.FileMode(0o600) {
		t.Errorf("the login is kept as %v %v", info, err)
	}
	if secret, err := os.ReadFile(kept); err != nil || !strings.HasPrefix(string(secret), "hrs_") || strings.Contains(shown.String(), "hrs_") {
		t.Errorf("the login is kept as %q %v, shown was %s", secret, err, shown.String())
	}
	provider.Logout("harness", "ann")
	ask(1, "harness login --provider", "sessions", "list")
	if code, out := person.Command("login", "--provider", "none", "--url", address); code != 1 || !strings.Contains(out, "unknown OpenID Connect provider") {
		t.Errorf("another provider: %d %s", code, out)
	}
	server.Stop()
}
