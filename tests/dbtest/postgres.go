package dbtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgconn"

	"harness/tests/outside"
)

// URLVariable names a Postgres to test against instead of a private cluster.
const URLVariable = "HARNESS_TEST_POSTGRES_URL"

const remedy = "no Postgres for the tests: run `make test`, which installs or finds one, or set " + URLVariable

// cluster is the test binary's private Postgres, started on first use. It ends with the test binary. Parent-death
// signals are not portable, so its postmaster also watches a pipe of this process (see startCluster).
var cluster = sync.OnceValues(startCluster)

// serverURL returns the URL of a Postgres database in which tests may create schemas.
func serverURL() (string, error) {
	if configured := os.Getenv(URLVariable); configured != "" {
		return configured, nil
	}
	running, err := cluster()
	if err != nil {
		return "", err
	}
	return running.url, nil
}

type runningCluster struct {
	url string
	// lifeline keeps the cluster up. Closing it, also by the garbage collector or the end of the process, stops the
	// cluster.
	lifeline io.WriteCloser
}

func startCluster() (*runningCluster, error) {
	bin, err := findBinaries()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "harness-pg-")
	if err != nil {
		return nil, err
	}
	credential, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	data := filepath.Join(dir, "data")
	if err := initialize(bin, data, credential); err != nil {
		return nil, err
	}
	// A watcher shell keeps the cluster up exactly as long as our end of its stdin is open. When the test binary ends
	// for any reason, read returns, and the shell removes the cluster and its folder.
	script := `"$0" -D "$1" -k "$2" -c listen_addresses= -c fsync=off -c synchronous_commit=off \
		-c full_page_writes=off -c max_connections=300 -c shared_buffers=64MB >"$2/log" 2>&1 & pg=$!
read -r _; kill -QUIT $pg; wait $pg; rm -rf "$2"`
	watcher := command(credential, "/bin/sh", "-c", script, filepath.Join(bin, "postgres"), data, dir)
	lifeline, err := watcher.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := watcher.Start(); err != nil {
		return nil, fmt.Errorf("start postgres: %w", err)
	}
	address := "postgres:///postgres?host=" + url.QueryEscape(dir) + "&user=harness"
	if err := waitReady(address); err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "log"))
		return nil, fmt.Errorf("postgres did not come up: %w\n%s", err, log)
	}
	return &runningCluster{url: address, lifeline: lifeline}, nil
}

func waitReady(address string) error {
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	tick := time.Tick(50 * time.Millisecond)
	for {
		last := db.PingContext(ctx)
		if last == nil {
			return nil
		}
		select {
		case <-tick:
		case <-ctx.Done():
			return last
		}
	}
}

func findBinaries() (string, error) {
	var dirs []string
	if path, err := exec.LookPath("initdb"); err == nil {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(resolved))
		}
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql*/bin",
		"/usr/local/opt/postgresql*/bin", "/usr/pgsql-*/bin"} {
		found, _ := filepath.Glob(pattern)
		sort.Sort(sort.Reverse(sort.StringSlice(found)))
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if executable(filepath.Join(dir, "initdb")) && executable(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errors.New(remedy)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode()&0o111 != 0 && !info.IsDir()
}

// unprivileged returns a user to run Postgres as if the tests run as root, which Postgres refuses. It makes that user
// the owner of the folder.
func unprivileged(dir string) (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	id := 65534
	if account, err := user.Lookup("postgres"); err == nil {
		if id, err = strconv.Atoi(account.Uid); err != nil {
			return nil, err
		}
	}
	if err := os.Chown(dir, id, id); err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}, nil
}

func command(credential *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: credential, Setpgid: true}
	return cmd
}

// newSchema creates a schema for one test and drops it at the end.
func newSchema(t testing.TB) string {
	t.Helper()
	outside.Needs(t, "Postgres")
	base, err := serverURL()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sql.Open("pgx", base)
	if err != nil {
		t.Fatal(err)
	}
	schema := "t_" + strings.ReplaceAll(uuid.Must(uuid.NewV7()).String(), "-", "_")
	if _, err := admin.ExecContext(t.Context(), `create schema "`+schema+`"`); err != nil {
		t.Fatalf("%v (%s)", err, remedy)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for {
			_, err := admin.ExecContext(ctx, `drop schema "`+schema+`" cascade`)
			var pg *pgconn.PgError
			if errors.As(err, &pg) && pg.Code == "40P01" {
				continue // deadlock with the last statement of a disconnected server: Postgres made one of them fail
			}
			if err != nil {
				t.Errorf("drop test schema: %v", err)
			}
			break
		}
		if err := admin.Close(); err != nil {
			t.Errorf("close the test connection: %v", err)
		}
	})
	parsed, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	query := parsed.Query()
	query.Set("search_path", schema)
	parsed.RawQuery = query.Encode()
	return parsed.String()
}
