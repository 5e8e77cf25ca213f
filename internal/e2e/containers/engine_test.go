//go:build containers && linux

package containers_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"harness/internal/polling"
)

// engine is an engine of Docker that a test started, with the base images that the repository's own are made from: stand-ins
// of Debian's packages and of this machine's Go and Node.js, as registries of images need not be in reach.
type engine struct {
	t *testing.T
	// environment is that of the clients.
	environment []string
	docker      string
}

// newEngine starts one that ends with the test.
func newEngine(t *testing.T) *engine {
	t.Helper()
	tools := script(t, "compose-tool.sh")
	bin := script(t, "docker-tool.sh")
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
	var said bytes.Buffer
	daemon := exec.Command(filepath.Join(bin, "dockerd"), "--data-root", path("data"), "--exec-root", path("run"), "--pidfile", path("pid"),
		"--host", "unix://"+path("s"))
	daemon.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	daemon.Stdout, daemon.Stderr = &said, &said
	own := exec.Command("ip", "link", "show", "docker0").Run() != nil // no other engine has made its bridge
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt) // it ends what it started
		_ = daemon.Wait()
		if own {
			_ = exec.Command("ip", "link", "delete", "docker0").Run() // an engine leaves it behind
		}
	})
	e := &engine{t: t, docker: filepath.Join(bin, "docker"),
		environment: append(os.Environ(), "DOCKER_HOST=unix://"+path("s"), "DOCKER_CONFIG="+tools, "DOCKER_BUILDKIT=1")}
	if !polling.Until(time.Minute, func() bool { return e.command("version").Run() == nil }) {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		t.Fatalf("the engine of Docker does not come up: %s", &said)
	}
	for file, image := range map[string]string{"debian.tar": "debian:bookworm-slim", "node.tar": "node:22-bookworm-slim", "go.tar": "golang:1.26-bookworm"} {
		e.run("import", "--change", "ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"--change", "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt", filepath.Join(tools, file), image)
	}
	return e
}

// script runs a script of the repository's that prints a folder.
func script(t *testing.T, name string) string {
	t.Helper()
	cmd := exec.Command(filepath.Join("..", "..", "..", "scripts", name))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return strings.TrimSpace(string(out))
}

func (e *engine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e.docker, args...)
	cmd.Env = e.environment
	return cmd
}

// run is a command of docker that must succeed, and returns what it said.
func (e *engine) run(args ...string) string {
	e.t.Helper()
	out, err := e.command(args...).CombinedOutput()
	if err != nil {
		e.t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out[max(0, len(out)-8000):])
	}
	return string(out)
}
