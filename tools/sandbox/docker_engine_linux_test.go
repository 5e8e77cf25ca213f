package sandbox_test

import (
	"bytes"
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

	"harness/internal/polling"
	"harness/tools/sandbox"
)

// TL-12, TL-16, TL-17, TL-18: a container of a real engine holds what bubblewrap holds.
func TestARealContainer(t *testing.T) {
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

// image is a name for what has the programs of programs(), and all this test needs to run there.
const image = "harness-test:1"

// engine starts an engine of Docker with that image, and returns its client.
func engine(t *testing.T) (client string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("an engine of Docker is started by root alone: run the tests as root")
	}
	found, err := exec.Command(filepath.Join("..", "..", "scripts", "docker-tool.sh")).Output()
	if err != nil {
		t.Fatalf("Docker is missing (%v); scripts/setup-test.sh brings it", err)
	}
	bin := strings.TrimSpace(string(found))
	//nolint:usetesting // a socket's path is short
	dir, err := os.MkdirTemp("", "dk-")
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
	daemon := exec.Command(filepath.Join(bin, "dockerd"), "--storage-driver", "vfs", "--iptables=false", "--ip6tables=false",
		"--bridge", "none", "--data-root", path("data"), "--exec-root", path("run"), "--pidfile", path("pid"), "--host",
		"unix://"+path("s"))
	daemon.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	daemon.Stdout, daemon.Stderr = &said, &said
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = daemon.Process.Signal(os.Interrupt) // it ends what it started
		_ = daemon.Wait()
	})
	client = path("docker")
	script := fmt.Sprintf("#!/bin/sh\nexec %s --host unix://%s \"$@\"\n", filepath.Join(bin, "docker"), path("s"))
	if err := os.WriteFile(client, []byte(script), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	if !polling.Until(time.Minute, func() bool { return exec.Command(client, "version").Run() == nil }) {
		_ = daemon.Process.Kill()
		_ = daemon.Wait()
		t.Fatalf("the engine of Docker does not come up: %s", &said)
	}
	if out, err := exec.Command("sh", "-c", `tar -C "$1" -c . | "$2" import - "$3"`, "sh", files(t), client,
		image).CombinedOutput(); err != nil {
		t.Fatalf("make an image: %v\n%s", err, out)
	}
	return client
}

// files are what an image has: the programs, and the libraries they and this test are linked with.
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
		linked, _ := exec.Command("ldd", program).Output() // a static one has none, which it calls a failure
		for _, library := range needed.FindAllString(string(linked), -1) {
			copied(library, library)
		}
	}
	return root
}
