package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"harness/internal/services/tools/sandbox"
	"harness/tests/dockertest"
)

// TL-12, TL-16, TL-17, TL-18: a container of a real engine confines like bubblewrap.
func TestRealContainer(t *testing.T) {
	t.Parallel()
	s := siteOf(t, sandbox.NewDocker(engine(t), image, program(t)...))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	out, err := s.shell(t.Context(), "echo out; echo err >&2; exit 3")
	if err != nil || out["exit_code"] != float64(3) || out["stdout"] != "out\n" || out["stderr"] != "err\n" {
		t.Errorf("%v (%v)", out, err)
	}
	out, err = s.shell(t.Context(), "i=0; while [ $i -lt 200 ]; do sleep 5 & i=$((i+1)); done; echo made")
	if said := strings.ToLower(fmt.Sprint(out, err)); !strings.Contains(said, "fork") {
		t.Errorf("200 processes: %.500s", said)
	}
	out, err = s.shell(t.Context(), "a=$(head -c 1000000000 /dev/zero | cat -A); echo ${#a}")
	if err == nil && out["exit_code"] == float64(0) {
		t.Errorf("more memory than it may have: %.200s", fmt.Sprint(out))
	}
	soon, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	if out, err := s.shell(soon, "sleep 1005"); err == nil || !errors.Is(soon.Err(), context.DeadlineExceeded) {
		t.Errorf("over its time: %v (%v)", out, err)
	}
	if s.running("sleep\x001005") {
		t.Error("a process of a killed container goes on")
	}
	s.seesItsWorkspaceOnly(listener)
}

// image is the name of an image with the programs of programs(), and everything that this test needs to run in it.
const image = "harness-test:1"

// engine starts a Docker engine with that image, and returns its client.
func engine(t *testing.T) (client string) {
	t.Helper()
	started := dockertest.Start(t, filepath.Join("..", "..", "..", "..", "scripts", "docker-tool.sh"), "--storage-driver", "vfs", "--iptables=false",
		"--ip6tables=false", "--bridge", "none")
	client = filepath.Join(t.TempDir(), "docker")
	script := fmt.Sprintf("#!/bin/sh\nexec %s --host %s \"$@\"\n", started.Docker, started.Host)
	if err := os.WriteFile(client, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if out, err := exec.Command("sh", "-c", `tar -C "$1" -c . | "$2" import - "$3"`, "sh", files(t), client,
		image).CombinedOutput(); err != nil {
		t.Fatalf("make an image: %v\n%s", err, out)
	}
	return client
}

// files returns the root of the image: the programs, and the libraries that they and this test are linked with.
func files(t *testing.T) (root string) {
	t.Helper()
	root = t.TempDir()
	own, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	needed := regexp.MustCompile(`/\S+`)
	copied := func(from, to string) {
		content, err := os.ReadFile(from)
		if err == nil {
			err = os.MkdirAll(filepath.Dir(filepath.Join(root, to)), 0o755) //nolint:gosec // of an image
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(root, to), content, 0o755) //nolint:gosec // a program
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(programs(), own) {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if name != own {
			copied(program, filepath.Join("bin", name))
		}
		linked, _ := exec.Command("ldd", program).Output() // ldd fails for a static program, which has none
		for _, library := range needed.FindAllString(string(linked), -1) {
			copied(library, library)
		}
	}
	return root
}
