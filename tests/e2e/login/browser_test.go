package login

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/chromiumtest"
	"harness/tests/oidctest"
	"harness/tests/programtest"
)

// A person logs in from the console's login page, in a real browser with a real provider on another site, and sees
// their name. The person is logged out when the provider requests it: see testdata/login.mjs.
func TestAPersonLogsInWithABrowser(t *testing.T) {
	t.Parallel()
	console, err := filepath.Abs("../../../console/web")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{console + "/node_modules/playwright-core", "../../../console/dist/app/index.html"} {
		if _, err := os.Stat(part); err != nil {
			t.Fatalf("the console is not built (%v); run scripts/console.sh, which needs Node.js 20.19 or newer and npm", err)
		}
	}
	if _, err := os.ReadFile("testdata/login.mjs"); err != nil { // so that a cached go test result does not apply to another script
		t.Fatal(err)
	}
	address, to := front(t)
	address = strings.Replace(address, "127.0.0.1", "localhost", 1)
	provider := oidctest.Start(t, oidctest.Config{Clients: []map[string]any{client("harness", address, "corp")}, Claims: []string{"groups"},
		Accounts: map[string]map[string]any{"ann": {"name": "Ann Lee", "groups": []string{"engineers"}}}})
	server := start(t, providers(t, map[string]any{"name": "corp", "issuer": provider.URL, "clientId": "harness", "clientSecretFile": "secret",
		"roleClaim": "groups"}))
	to(server)
	ctx, cancel := context.WithTimeout(t.Context(), programtest.Patience)
	defer cancel()
	node := exec.CommandContext(ctx, "node", "testdata/login.mjs")
	node.Env = append(os.Environ(), "LOGIN_URL="+address, "LOGIN_PROVIDER="+provider.URL, "LOGIN_CONSOLE="+console,
		"LOGIN_CHROMIUM="+chromiumtest.Shell(t))
	if said, err := node.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
	server.Stop()
}
