package opencode

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime/wire"
)

// A replay of the stored lines of every recording of the real OpenCode gives the same messages, without the bridge's
// additions and the times.
func TestReplayRepeatsRecordedMessages(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/recordings/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	compared := 0
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		golden, err := os.ReadFile(filepath.Join("testdata/golden", name+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		want, got := map[string]string{}, map[string]string{}
		for line := range bytes.Lines(golden) {
			noteMessage(want, line)
		}
		for _, signal := range Replay("session", "/work", kept(t, file)) {
			noteMessage(got, signal.Raw)
		}
		if !maps.Equal(want, got) {
			t.Errorf("%s: replayed %q, want %q", name, got, want)
		}
		compared += len(want)
	}
	if compared < 10 {
		t.Errorf("only %d messages were compared", compared)
	}
}

// kept returns the lines of a recording that the server stores for a session.
func kept(t *testing.T, file string) (lines []json.RawMessage) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(raw) {
		var r struct{ Line json.RawMessage }
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if event := wire.Members(r.Line, "event")[0]; event != nil {
			lines = append(lines, event)
		} else if r.Line != nil {
			lines = append(lines, r.Line)
		}
	}
	return lines
}

// noteMessage records the agent's message that a line completes, if any, by its id.
func noteMessage(into map[string]string, line []byte) {
	method, layout, ok := wire.LayoutOf(line)
	if !ok || method != wire.MethodItemCompleted {
		return
	}
	decoded := wire.Members(wire.Members(layout.Params.Of(line), "item")[0], "type", "id", "text")
	if wire.Text(decoded[0]) == wire.ItemAgentMessage {
		into[wire.Text(decoded[1])] = wire.Text(decoded[2])
	}
}
