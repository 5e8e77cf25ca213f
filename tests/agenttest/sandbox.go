package agenttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"harness/tests/outside"
)

// Bubblewrap returns the path of codex's own Linux bubblewrap, a known version on every machine.
func Bubblewrap(t testing.TB) string {
	t.Helper()
	return filepath.Join(filepath.Dir(filepath.Dir(Binary(t, "codex"))), "codex-resources", "bwrap")
}

// SandboxPath returns a PATH with the programs that Claude Code needs to confine commands. On Linux these are
// bubblewrap and socat; without socat it fails the test.
func SandboxPath(t testing.TB) string {
	t.Helper()
	outside.Needs(t, "socat")
	path := os.Getenv("PATH")
	if runtime.GOOS != "linux" {
		return path
	}
	if _, err := exec.LookPath("socat"); err != nil {
		t.Fatalf("%v; install what the tests need with: %s", err, filepath.Join(root(t), "scripts", "setup-test.sh"))
	}
	folder := t.TempDir()
	if err := os.Symlink(Bubblewrap(t), filepath.Join(folder, "bwrap")); err != nil {
		t.Fatal(err)
	}
	return folder + string(filepath.ListSeparator) + path
}

// PathWithout returns a PATH of this machine's programs without the named ones.
func PathWithout(t testing.TB, programs ...string) string {
	t.Helper()
	if !slices.ContainsFunc(programs, func(program string) bool { _, err := exec.LookPath(program); return err == nil }) {
		return os.Getenv("PATH") // none of them is installed
	}
	folder := t.TempDir()
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // a PATH may name missing folders
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
