package bundle_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/bundle"
)

// TE-01: what real runtimes were recorded saying is redacted: nothing is left in it that looks like a secret.
func TestRecordingsHaveNoSecret(t *testing.T) {
	t.Parallel()
	cleaner := bundle.NewCleaner()
	// What only looks like one: where Claude Code has its key from, and what the recorded MCP server was told.
	harmless := strings.NewReplacer(`"apiKeySource":`, `"from":`, "Bearer task-1", "")
	for _, pattern := range []string{"claude/testdata/*.jsonl", "opencode/testdata/*/*", "acp/testdata/*/*", "codex/testdata/recordings/*.jsonl"} {
		files, err := filepath.Glob(filepath.Join("..", "runtime", filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d recordings, %v", pattern, len(files), err)
		}
		for _, file := range files {
			if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
				continue
			}
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(harmless.Replace(string(content))) {
				if cleaned, taken := cleaner.Clean([]byte(line)); taken > 0 {
					at := bytes.Index(cleaned, []byte("[redacted]"))
					t.Errorf("%s has a secret: ...%s", file, line[max(0, at-60):min(len(line), at+60)])
				}
			}
		}
	}
}
