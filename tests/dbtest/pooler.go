package dbtest

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/outside"
)

// Pooler starts a PgBouncer with a pool_mode and additional settings, and returns the URL of a database behind it. It
// ends with the test. A Postgres in URLVariable must listen on a socket, as the private one does.
func Pooler(t testing.TB, mode string, settings ...string) string {
	t.Helper()
	outside.Needs(t, "PgBouncer")
	base, err := serverURL()
	if err != nil {
		t.Fatal(err)
	}
	of, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		bin = "/usr/sbin/pgbouncer" // Debian's path, which is not in every PATH
	}
	dir, err := os.MkdirTemp("", "harness-pooler-") //nolint:usetesting // the path of a socket is short, and another user goes there
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	file := filepath.Join(dir, "pgbouncer.ini")
	lines := append([]string{"[databases]",
		fmt.Sprintf("pooled = host=%s dbname=%s user=%s", of.Query().Get("host"), strings.TrimPrefix(of.Path, "/"), of.Query().Get("user")),
		"[pgbouncer]", "auth_type = any", "listen_port = 6432", "unix_socket_dir = " + dir, "pool_mode = " + mode}, settings...)
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil { //nolint:gosec // another user reads it
		t.Fatal(err)
	}
	credential, err := unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	// As with the cluster, a shell ends it when this process exits, however that happens.
	watcher := command(credential, "/bin/sh", "-c", `"$0" -q "$1" >"$2/log" 2>&1 & pooler=$!
read -r _; kill -INT $pooler; wait $pooler`, bin, file, dir)
	lifeline, err := watcher.StdinPipe()
	if err == nil {
		err = watcher.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = lifeline.Close()
		_ = watcher.Wait() // it ends as requested
	})
	address := "postgres:///pooled?host=" + url.QueryEscape(dir) + "&port=6432&user=" + url.QueryEscape(of.Query().Get("user"))
	if err := waitReady(address + "&default_query_exec_mode=simple_protocol"); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		t.Fatalf("pgbouncer did not come up: %v\n%s", err, log)
	}
	return address
}
