package agents

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"harness/internal/runtime/process"
	"harness/tests/programtest"
)

// runtimeProcesses returns the running processes of a runtime and their children.
func runtimeProcesses(s *programtest.Site, runtime string) []int {
	s.T.Helper()
	pids, err := process.Marked(process.Marker(s.DataDir, runtime))
	if err != nil || len(pids) == 0 {
		s.T.Fatalf("no process of %s: %v", runtime, err)
	}
	slices.Sort(pids)
	return pids
}

// requireKeyOnlyIn checks that a secret is in the environment of some processes, not in the environment of others,
// and in no command line.
func requireKeyOnlyIn(t *testing.T, key string, with, without []int) {
	t.Helper()
	read := func(pid int, file string) []byte {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, file))
		if err != nil {
			t.Error(err)
		}
		return raw
	}
	for _, pid := range with {
		if !bytes.Contains(read(pid, "environ"), []byte(key)) {
			t.Errorf("process %d has no key: %s", pid, read(pid, "cmdline"))
		}
	}
	for _, pid := range without {
		if bytes.Contains(read(pid, "environ"), []byte(key)) {
			t.Errorf("process %d has a key that is not its: %s", pid, read(pid, "cmdline"))
		}
	}
	for _, pid := range append(with, without...) {
		if bytes.Contains(read(pid, "cmdline"), []byte(key)) {
			t.Errorf("the key is in the command line of process %d", pid)
		}
	}
}
