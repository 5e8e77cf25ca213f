//go:build containers && linux

package containers_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/dockertest"
)

// engine is a Docker engine of a test, with stand-ins for the base images of the repository's images. They are made
// from Debian's packages and this machine's Go and Node.js, because image registries may be unreachable.
type engine struct {
	t *testing.T
	// environment is the environment of the clients.
	environment []string
	docker      string
}

// newEngine starts an engine that ends with the test.
func newEngine(t *testing.T) *engine {
	t.Helper()
	prepare := exec.Command(scripts("compose-tool.sh"))
	prepare.Stderr = os.Stderr
	folder, err := prepare.Output()
	if err != nil {
		t.Fatalf("compose-tool.sh: %v", err)
	}
	tools := strings.TrimSpace(string(folder))
	own := exec.Command("ip", "link", "show", "docker0").Run() != nil // no other engine has created its bridge
	t.Cleanup(func() {
		if own {
			_ = exec.Command("ip", "link", "delete", "docker0").Run() // the engine leaves it behind
		}
	})
	started := dockertest.Start(t, scripts("docker-tool.sh"))
	e := &engine{t: t, docker: started.Docker,
		environment: append(os.Environ(), "DOCKER_HOST="+started.Host, "DOCKER_CONFIG="+tools, "DOCKER_BUILDKIT=1")}
	for file, image := range map[string]string{"debian.tar": "debian:bookworm-slim", "node.tar": "node:22-bookworm-slim", "go.tar": "golang:1.26-bookworm"} {
		e.run("import", "--change", "ENV PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
			"--change", "ENV NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt", filepath.Join(tools, file), image)
	}
	return e
}

func scripts(name string) string { return filepath.Join("..", "..", "..", "scripts", name) }

func (e *engine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(e.docker, args...)
	cmd.Env = e.environment
	return cmd
}

// run runs a docker command that must succeed, and returns its output.
func (e *engine) run(args ...string) string {
	e.t.Helper()
	out, err := e.command(args...).CombinedOutput()
	if err != nil {
		e.t.Fatalf("docker %s: %v\n%s", strings.Join(args, " "), err, out[max(0, len(out)-8000):])
	}
	return string(out)
}
