package codex

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/runtime"
)

// Every recording of the real codex keeps the rules of a turn, each line read by itself: codex speaks the vocabulary,
// so there is no state between two lines. A turn begins once and ends once, its items begin before they end, the pieces
// of a text are the text, and what was asked is closed.
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
			begun, ended, items, texts, open :=
				map[string]int{}, map[string]int{}, map[string]int{}, map[string]string{}, map[string]bool{}
			for line := range bytes.Lines(raw) {
				signal := classified(t, strings.TrimSuffix(string(line), "\n"))
				switch change := signal.Change.(type) {
				case runtime.TurnStarted:
					begun[change.TurnID]++
				case runtime.TurnCompleted:
					if ended[change.TurnID]++; begun[change.TurnID] != 1 || slices.Contains(slices.Collect(maps.Values(open)), true) {
						t.Errorf("turn %s began %d times and ends with %v open", change.TurnID, begun[change.TurnID], open)
					}
				case runtime.ItemChanged:
					if items[change.Item.ID]++; change.Done != (items[change.Item.ID] == 2) {
						t.Errorf("item %s is told of %d times (done: %t)", change.Item.ID, items[change.Item.ID], change.Done)
					}
					if text := texts[change.Item.ID]; change.Done && text != "" && change.Item.Role == "assistant" &&
						text != change.Item.Content {
						t.Errorf("item %s is %q, its pieces %q", change.Item.ID, change.Item.Content, text)
					}
				case runtime.TextDelta:
					var piece string
					if err := json.Unmarshal(signal.Raw[change.Start:change.End], &piece); err != nil {
						t.Error(err)
					}
					if change.Into == runtime.TextContent {
						texts[signal.ItemID] += piece
					}
				case runtime.InteractiveRequested:
					// codex says nothing of the answer to a client's tool
					open[string(signal.RequestID)] = signal.Method != "item/tool/call"
				case runtime.RequestResolved:
					if _, asked := open[string(change.RequestID)]; !asked {
						t.Errorf("request %s is closed and was not open", change.RequestID)
					}
					delete(open, string(change.RequestID))
				}
			}
			for turn, times := range begun {
				if times != 1 || ended[turn] != 1 {
					t.Errorf("turn %s began %d times and ended %d times", turn, times, ended[turn])
				}
			}
		})
	}
}
