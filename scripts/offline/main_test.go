package main

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inside means that the test binary is the command without network.
const inside = "HARNESS_TEST_INSIDE_OFFLINE"

func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		os.Exit(m.Run())
	}
	_, _ = os.Stdout.WriteString(found()) // a failed write fails the test
	os.Exit(3)
}

// found reports the networks: "done" if they are loopback and an interface that leads nowhere.
func found() (report string) {
	interfaces, err := net.Interfaces()
	for _, one := range interfaces {
		if one.Name != "lo" && one.Name != "nowhere" || one.Flags&net.FlagUp == 0 {
			report = "it has a network: "
		}
	}
	if _, outside := net.DialTimeout("udp", "198.51.100.1:9", time.Second); outside == nil {
		report = "it has a network: "
	}
	if err != nil {
		report += err.Error()
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		_, err = net.Dial("tcp", listener.Addr().String())
	}
	if err != nil {
		report += err.Error()
	}
	if os.Getenv("OPENAI_API_KEY") != "" || os.Getenv("GOPROXY") != "off" {
		report += "it has keys, or a module proxy: "
	}
	return report + "done"
}

// TE-04: make test runs the suite with this command, so that passing tests need neither a network nor a credential.
func TestNothingButLoopbackIsThere(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "offline")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, self)
	command.Env = append(os.Environ(), inside+"=1", "OPENAI_API_KEY=secret")
	said, err := command.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("the command's exit code is lost: %v", err)
	}
	want, stderr := "done", ""
	if exit != nil {
		stderr = string(exit.Stderr)
	}
	if strings.Contains(stderr, "running with this machine's network") { // this machine allows no namespace, and the command reports so
		want = "it has a network: done"
	}
	if string(said) != want {
		t.Errorf("inside: %q, outside: %q", said, stderr)
	}
	makefile, err := os.ReadFile(filepath.Join("..", "..", "Makefile"))
	if err != nil || !strings.Contains(string(makefile), "scripts/offline.sh bin/runtests -plain scripts/runtests/plain.txt go test -race") {
		t.Errorf("make test does not run without network: %v", err)
	}
}
