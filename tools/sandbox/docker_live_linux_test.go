//go:build live

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"harness/tools/sandbox"
)

// liveImage names an image with the programs of programs(), which is there.
const liveImage = "HARNESS_TEST_IMAGE"

// TL-12, TL-16, TL-17, TL-18: a real engine holds what bubblewrap holds. It takes docker's client, and an engine behind
// it (DOCKER_HOST):
//
//	RUN_LIVE_TESTS=1 HARNESS_TEST_IMAGE=debian:stable CGO_ENABLED=0 go test -tags live ./tools/sandbox -run TestARealContainer
func TestARealContainer(t *testing.T) {
	if os.Getenv("RUN_LIVE_TESTS") != "1" || os.Getenv(liveImage) == "" {
		t.Fatalf("it takes RUN_LIVE_TESTS=1 and %s", liveImage)
	}
	s := siteOf(t, sandbox.NewDocker("", os.Getenv(liveImage), program(t)...))
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
