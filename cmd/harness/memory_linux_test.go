package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/polling"
	"harness/tests/programtest"
)

// memoryGroup creates a cgroup with a memory limit in bytes, and returns its folder: in version 2, or in version 1 if
// that controls the memory.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	parent, file := "/sys/fs/cgroup", "memory.max"
	controllers, _ := os.ReadFile(filepath.Join(parent, "cgroup.controllers")) // none on version 1
	if strings.Contains(string(controllers), "memory") {
		if err := os.WriteFile(filepath.Join(parent, "cgroup.subtree_control"), []byte("+memory"), 0o600); err != nil {
			t.Fatal(err)
		}
	} else {
		parent, file = filepath.Join(parent, "memory"), "memory.limit_in_bytes"
	}
	group := filepath.Join(parent, fmt.Sprintf("harness-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if !polling.Until(programtest.Patience, func() bool { return os.Remove(group) == nil }) {
			t.Errorf("the cgroup %s keeps its processes", group)
		}
	})
	if err := os.WriteFile(filepath.Join(group, file), fmt.Append(nil, limit), 0o600); err != nil {
		t.Fatal(err)
	}
	return group
}

// A server in a container plans with nine tenths of the container's memory, unless it gets another limit.
func TestTheServerStaysWithinItsContainer(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("not root: no cgroup can be made")
		return
	}
	const limit = 512 << 20
	s, group := programtest.New(t), memoryGroup(t, limit)
	contained := filepath.Join(t.TempDir(), "contained")
	script := fmt.Sprintf("#!/bin/sh\necho $$ >%s/cgroup.procs && exec %s \"$@\"\n", group, s.Program)
	if err := os.WriteFile(contained, []byte(script), 0o700); err != nil { //nolint:gosec // it is a program
		t.Fatal(err)
	}
	for _, c := range []struct {
		env  []string
		want float64
	}{{nil, 0.9 * limit}, {[]string{"GOMEMLIMIT=1GiB"}, 1 << 30}} {
		server := s.StartBinary(contained, c.env...)
		if got := server.Metric("go_gc_gomemlimit_bytes"); math.Abs(got-c.want) > 1 {
			t.Errorf("with %v the server plans with %.0f bytes of memory, not %.0f", c.env, got, c.want)
		}
		server.Stop()
	}
}
