package codex

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/runtimetest"
)

// Every recording of the real codex keeps the rules of a turn, with each line read separately: codex uses the
// vocabulary itself, so there is no state between two lines.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/recordings/*.jsonl")
	if err != nil || len(files) < 12 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var signals []runtime.Signal
			for line := range bytes.Lines(raw) {
				signals = append(signals, classified(t, strings.TrimSuffix(string(line), "\n")))
			}
			runtimetest.CheckRules(t, runtimetest.Rules{}, signals, false)
		})
	}
}
