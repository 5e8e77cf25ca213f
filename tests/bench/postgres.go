package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// postgres is a private cluster with Postgres's default durability (fsync and synchronous_commit on), started on
// first use. It stops when this process ends for any reason, because a watcher shell reads a pipe of this process.
var postgres = sync.OnceValues(startPostgres)

var databases atomic.Int64

// newDatabase creates an empty database and returns its URL. HARNESS_TEST_POSTGRES_URL names a server to use instead
// of a private one.
func newDatabase() (string, error) {
	base := os.Getenv("HARNESS_TEST_POSTGRES_URL")
	if base == "" {
		var err error
		if base, err = postgres(); err != nil {
			return "", err
		}
	}
	db, err := sql.Open("pgx", base)
	if err != nil {
		return "", err
	}
	defer db.Close()
	name := fmt.Sprintf("bench_%d_%d", os.Getpid(), databases.Add(1))
	if _, err := db.ExecContext(context.Background(), "create database "+name); err != nil {
		return "", err
	}
	parsed, err := url.Parse(base)
	if err != nil {
		return "", err
	}
	parsed.Path = "/" + name
	return parsed.String(), nil
}

func startPostgres() (string, error) {
	bin, err := postgresBinaries()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "harness-bench-pg-")
	if err != nil {
		return "", err
	}
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if os.Geteuid() == 0 { // Postgres refuses to run as root
		id := 65534
		if account, err := user.Lookup("postgres"); err == nil {
			if id, err = strconv.Atoi(account.Uid); err != nil {
				return "", err
			}
		}
		if err := os.Chown(dir, id, id); err != nil {
			return "", err
		}
		attributes.Credential = &syscall.Credential{Uid: uint32(id), Gid: uint32(id)}
	}
	command := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = "/", attributes
		return cmd
	}
	data := filepath.Join(dir, "data")
	if out, err := command(filepath.Join(bin, "initdb"), "-D", data, "-U", "harness", "-A", "trust", "-E", "UTF8",
		"--locale=C", "-N").CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, out)
	}
	const script = `"$0" -D "$1" -k "$2" -c listen_addresses= -c shared_buffers=256MB >"$2/log" 2>&1 & pg=$!
read -r _; kill -QUIT $pg; wait $pg; rm -rf "$2"`
	watcher := command("/bin/sh", "-c", script, filepath.Join(bin, "postgres"), data, dir)
	lifeline, err := watcher.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := watcher.Start(); err != nil {
		return "", err
	}
	address := "postgres:///postgres?host=" + url.QueryEscape(dir) + "&user=harness"
	db, err := sql.Open("pgx", address)
	if err != nil {
		return "", err
	}
	defer db.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		last := db.Ping()
		if last == nil {
			postmasterFile = filepath.Join(data, "postmaster.pid")
			keep(lifeline)
			return address, nil
		}
		if time.Now().After(deadline) {
			return "", fmt.Errorf("postgres did not come up: %w", last)
		}
	}
}

// postgresCPU returns the CPU time of the private cluster so far: its server, and the processes of current and ended
// connections.
func postgresCPU() time.Duration {
	raw, err := os.ReadFile(postmasterFile)
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(raw), "\n")
	server, err := strconv.Atoi(first)
	if err != nil {
		return 0
	}
	total := processCPU(server) + endedCPU(server)
	children, _ := os.ReadFile("/proc/" + first + "/task/" + first + "/children")
	for _, child := range strings.Fields(string(children)) {
		if pid, err := strconv.Atoi(child); err == nil {
			total += processCPU(pid)
		}
	}
	return total
}

// postmasterFile is the file with the process id of the cluster's first process.
var postmasterFile string

// lifelines must stay reachable until the process ends.
var lifelines []any

func keep(one any) { lifelines = append(lifelines, one) }

func postgresBinaries() (string, error) {
	dirs, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if path, err := exec.LookPath("initdb"); err == nil {
		if resolved, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(resolved))
		}
	}
	for i := len(dirs) - 1; i >= 0; i-- {
		if _, err := os.Stat(filepath.Join(dirs[i], "postgres")); err == nil {
			return dirs[i], nil
		}
	}
	return "", errors.New("no Postgres: run scripts/setup-test.sh, or set HARNESS_TEST_POSTGRES_URL")
}
