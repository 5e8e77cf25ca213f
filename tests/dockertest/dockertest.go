// Package dockertest starts Docker engines for tests. It needs root.
package dockertest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/tests/outside"
	"harness/tests/polling"
)

// Engine is a Docker engine that ends with its test.
type Engine struct {
	// Docker is the path of the client. Host is the engine's address (DOCKER_HOST).
	Docker, Host string
}

// Start starts an engine with an empty data root and these dockerd arguments. script is a path of
// scripts/docker-tool.sh, which prints the folder of the programs.
func Start(t testing.TB, script string, args ...string) Engine {
	t.Helper()
	outside.Needs(t, "Docker")
	if os.Geteuid() != 0 {
		t.Fatal("an engine of Docker is started by root alone: run the tests as root")
	}
	found, err := exec.Command(script).Output()
	if err != nil {
		t.Fatalf("Docker is missing (%v); scripts/setup-test.sh brings it", err)
	}
	bin := strings.TrimSpace(string(found))
	dir, err := os.MkdirTemp("", "dk-") //nolint:usetesting // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	path := func(name string) string { return filepath.Join(dir, name) }
	engine := Engine{Docker: filepath.Join(bin, "docker"), Host: "unix://" + path("s")}
	var said bytes.Buffer
	daemon := exec.Command(filepath.Join(bin, "dockerd"), append(args, "--data-root", path("data"), "--exec-root", path("run"),
		"--pidfile", path("pid"), "--host", engine.Host)...)
	daemon.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	daemon.Stdout, daemon.Stderr = &said, &said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt) // it ends the processes that it started
		_ = daemon.Wait()
	})
	if !polling.Until(time.Minute, func() bool {
		return exec.Command(engine.Docker, "--host", engine.Host, "version").Run() == nil
	}) {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		t.Fatalf("the engine of Docker does not come up: %s", &said)
	}
	return engine
}
