package opencode

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"harness/internal/runtime/opencode/bridge"
)

// For any input, the translator does not panic, its state can be stored, and stays within its bounds.
func FuzzTranslate(f *testing.F) {
	for _, name := range []string{"text", "approve", "sse-gap"} { // long ones are slow to vary
		raw, err := os.ReadFile(filepath.Join("testdata/recordings", name+".jsonl"))
		if err != nil {
			f.Fatal(err)
		}
		var lines bytes.Buffer
		for line := range bytes.Lines(raw) {
			var r struct {
				Line json.RawMessage `json:"line"`
			}
			if json.Unmarshal(line, &r) == nil && r.Line != nil {
				lines.Write(append(r.Line, '\n'))
			}
		}
		f.Add(lines.Bytes())
	}
	f.Fuzz(func(t *testing.T, said []byte) {
		var s state
		for one := range bytes.Lines(said) {
			var l bridge.Line
			if json.Unmarshal(one, &l) != nil {
				continue
			}
			signals, _ := s.translate(l, 1, func(string) string { return "session" })
			for _, signal := range signals {
				if !json.Valid(signal.Raw) {
					t.Fatalf("no JSON: %s", signal.Raw)
				}
			}
		}
		raw, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Conversations) > maxConversations || len(raw) > (len(s.Conversations)+1)*maxConversation {
			t.Fatalf("the state of %d turns is %d bytes", len(s.Conversations), len(raw))
		}
		var again state
		if err := json.Unmarshal(raw, &again); err != nil {
			t.Fatal(err)
		}
	})
}
