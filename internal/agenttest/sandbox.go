package agenttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// RequireSandbox fails the test where Claude Code finds nothing to confine commands with: bubblewrap and socat on Linux.
func RequireSandbox(t testing.TB) {
	t.Helper()
	if runtime.GOOS != "linux" {
		return
	}
	for _, program := range []string{"bwrap", "socat"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Fatalf("%v; install what the tests need with: %s", err, filepath.Join(root(t), "scripts", "setup-test.sh"))
		}
	}
}

// PathWithout is a PATH of the programs of this machine without some.
func PathWithout(t testing.TB, programs ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a PATH may name folders that are not there
		}
		for _, entry := range entries {
			link := filepath.Join(folder, entry.Name())
			if _, err := os.Lstat(link); err == nil || slices.Contains(programs, entry.Name()) {
				continue // an earlier folder has it
			}
			if err := os.Symlink(filepath.Join(dir, entry.Name()), link); err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder
}
