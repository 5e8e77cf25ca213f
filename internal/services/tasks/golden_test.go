package tasks_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/services/tasks"
)

// TE-01: the recorded lines of each runtime yield exactly the expected events, byte for byte. For one recording of each
// runtime, testdata has the events; for all others it has their number and hash. HARNESS_UPDATE=1 rewrites them.
func TestRecordingsBecomeTheVeryEvents(t *testing.T) {
	t.Parallel()
	shown := map[string]string{"claude/deny.golden.jsonl 0": "claude", "codex/deny.jsonl 0": "codex", "opencode/deny.jsonl 0": "opencode",
		"acp/gemini.golden 1": "gemini"}
	var sums strings.Builder
	for _, file := range recordingFiles(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.Split(filepath.ToSlash(file), "/")[3] + "/" + filepath.Base(file)
		for i, recording := range bytes.Split(content, []byte("\n== ")) {
			records := recordsOf(recording)
			if len(records) == 0 {
				continue
			}
			about := tasks.About{SessionID: "s", Runtime: "recorded", CreatedAt: 1}
			var lines bytes.Buffer
			for _, e := range tasks.Events(about, records) {
				lines.Write(append(mustEncode(t, e), '\n'))
			}
			events := lines.String()
			which := fmt.Sprintf("%s %d", name, i)
			if into, is := shown[which]; is {
				golden(t, into+".events.jsonl", events)
				delete(shown, which)
			}
			fmt.Fprintf(&sums, "%s: %d events, sha256:%x\n", which, strings.Count(events, "\n"), sha256.Sum256([]byte(events)))
		}
	}
	for which := range shown {
		t.Errorf("there is no recording %s", which)
	}
	golden(t, "events.sums", sums.String())
}

// golden compares a result with the expected one.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if os.Getenv("HARNESS_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	expected, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.SplitAfter(string(expected), "\n")
	for i, line := range strings.SplitAfter(got, "\n") {
		if i >= len(want) || line != want[i] {
			t.Fatalf("%s:%d: got\n%s", path, i+1, line)
		}
	}
	if string(expected) != got {
		t.Errorf("%s has more than what came", path)
	}
}
