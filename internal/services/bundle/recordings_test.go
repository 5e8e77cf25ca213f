package bundle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/services/bundle"
)

// TE-01: the recordings of real runtimes are redacted: they contain nothing that looks like a secret.
func TestRecordingsHaveNoSecret(t *testing.T) {
	t.Parallel()
	cleaner := bundle.NewCleaner()
	// Harmless look-alikes: the source of Claude Code's key, and the argument of the recorded MCP server.
	harmless := strings.NewReplacer(`"apiKeySource":`, `"from":`, "Bearer task-1", "")
	seen := map[string]bool{} // most members are the same in many lines
	for _, pattern := range []string{"claude/testdata/*.jsonl", "opencode/testdata/recordings/*", "acp/testdata/*/*", "codex/testdata/recordings/*.jsonl"} {
		files, err := filepath.Glob(filepath.Join("..", "..", "runtime", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d recordings, %v", pattern, len(files), err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for member := range strings.SplitAfterSeq(harmless.Replace(string(content)), ",") {
				if seen[member] {
					continue
				}
				seen[member] = true
				if cleaned, taken := cleaner.Clean([]byte(member)); taken > 0 {
					t.Errorf("%s has a secret: %s", file, cleaned)
				}
			}
		}
	}
}
