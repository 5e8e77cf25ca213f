// Package agenttest gives tests the real coding agents from a cache of executables. The rest of what codex needs is
// in tests/codextest.
//
// It owns the location of the cached executables. It must never install anything itself. A missing executable fails
// the test with the command that installs it; only `make check` skips.
package agenttest

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/tests/outside"
)

// Binary returns the path of an agent's cached executable: codex, codex-recorded, codex-oldest, claude, opencode,
// gemini, claude-acp or codex-acp, as pinned in scripts/agents.versions. Gemini and the two bridges are Node.js
// scripts. If the executable is missing, it fails the test with the remedy.
func Binary(t testing.TB, name string) string {
	t.Helper()
	outside.Needs(t, "an agent")
	root := root(t)
	pinned := pin(t, root, name)
	cache := Cache(t)
	folder := filepath.Join(cache, "agents", name+"-"+pinned.version)
	if name == "codex" || name == "codex-recorded" || name == "codex-oldest" {
		folder = filepath.Join(cache, "codex", pinned.version)
	}
	found, err := filepath.Glob(filepath.Join(folder, pinned.entry))
	if err != nil || len(found) != 1 {
		t.Fatalf("%s %s is not in the cache (%s, %v); install it with: %s %s", name, pinned.version, folder, err,
			filepath.Join(root, "scripts", "agents.sh"), name)
	}
	if info, err := os.Stat(found[0]); err != nil || info.Mode()&0o111 == 0 {
		t.Fatalf("%s %s is broken in the cache (%s, %v); remove %s, and install it with: %s %s", name, pinned.version,
			found[0], err, folder, filepath.Join(root, "scripts", "agents.sh"), name)
	}
	return found[0]
}

// Cache returns the folder of the cached executables.
func Cache(t testing.TB) string {
	t.Helper()
	return cmp.Or(os.Getenv("HARNESS_CACHE"), filepath.Join(root(t), ".cache"))
}

// Version returns the pinned version of an agent, for example "2.1.332".
func Version(t testing.TB, name string) string {
	t.Helper()
	return pin(t, root(t), name).version
}

// versionsVariable names a file of versions to use instead of scripts/agents.versions, for `make newest`.
const versionsVariable = "HARNESS_AGENTS_VERSIONS"

type pinned struct{ version, entry string }

func pin(t testing.TB, root, name string) pinned {
	t.Helper()
	path := cmp.Or(os.Getenv(versionsVariable), filepath.Join(root, "scripts", "agents.versions"))
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("read the pinned agents: %v", err)
	}
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) == 4 && fields[0] == name {
			return pinned{version: fields[1], entry: fields[3]}
		}
	}
	t.Fatalf("%s pins no agent called %q", path, name)
	return pinned{}
}

// root returns the repository's root. Tests run in their package's folder, below go.mod.
func root(t testing.TB) string {
	t.Helper()
	start, err := os.Getwd()
	if err != nil {
		t.Fatalf("find the repository: %v", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		if dir == filepath.Dir(dir) {
			t.Fatalf("there is no go.mod above %s; run tests from the repository", start)
		}
	}
}
