package opencode

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/runtime"
	"harness/runtime/opencode/bridge"
)

var update = flag.Bool("update", false,
	"write the golden lines instead of comparing them") //nolint:gochecknoglobals // as the testing package's own flags

// recorded is one line of a recording: what the bridge says, or that the process ended.
type recorded struct {
	At   int64       `json:"at"`
	Line bridge.Line `json:"line"`
	Exit bool        `json:"exit"`
}

// Every recording of the real OpenCode, with the state written down and read again between every two lines, is the
// golden canonical lines, and breaks no rule of a turn.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/recordings/*.jsonl")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d recordings, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := replay(t, file)
			checkRules(t, signals, name == "kill9-midturn")
			var got bytes.Buffer
			for _, signal := range signals {
				got.Write(signal.Raw)
				got.WriteByte('\n')
			}
			golden := filepath.Join("testdata/golden", name+".jsonl")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			gotLines, wantLines := strings.Split(got.String(), "\n"), strings.Split(string(want), "\n")
			for i := range max(len(gotLines), len(wantLines)) {
				at := func(lines []string) string {
					if i < len(lines) {
						return lines[i]
					}
					return "nothing"
				}
				if at(gotLines) != at(wantLines) {
					t.Fatalf("line %d is\n%s\nwant\n%s", i+1, at(gotLines), at(wantLines))
				}
			}
		})
	}
}

func replay(t *testing.T, file string) (signals []runtime.Signal) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stored []byte
	for line := range bytes.Lines(raw) {
		var r recorded
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Exit {
			stored = nil // another process begins with nothing
			continue
		}
		var s state
		if stored != nil {
			if err := json.Unmarshal(stored, &s); err != nil {
				t.Fatal(err)
			}
		}
		said, _ := s.translate(r.Line, r.At, func(string) string { return "session" })
		signals = append(signals, said...)
		if stored, err = json.Marshal(s); err != nil {
			t.Fatal(err)
		}
		if len(stored) > 4<<10 {
			t.Errorf("the state is %d bytes", len(stored))
		}
	}
	return signals
}

// checkRules fails when signals break what every runtime promises. With killed, the last turn of a process may have no
// end.
func checkRules(t *testing.T, signals []runtime.Signal, killed bool) {
	t.Helper()
	begun, ended, started, done, texts :=
		map[string]int{}, map[string]int{}, map[string]int{}, map[string]int{}, map[string]string{}
	open := map[string]bool{}
	for i, signal := range signals {
		where := fmt.Sprintf("signal %d, %s", i, signal.Method)
		switch change := signal.Change.(type) {
		case runtime.TurnStarted:
			begun[change.TurnID]++
		case runtime.TurnCompleted:
			ended[change.TurnID]++
			if begun[change.TurnID] != 1 || ended[change.TurnID] != 1 || change.Status == runtime.TurnInProgress {
				t.Errorf("%s: %+v", where, change)
			}
			for id := range open {
				t.Errorf("%s: request %s is open", where, id)
			}
		case runtime.ItemChanged:
			if begun[change.TurnID] != 1 || ended[change.TurnID] != 0 {
				t.Errorf("%s: item %s of a turn that does not run", where, change.Item.ID)
			}
			if !change.Done {
				started[change.Item.ID]++
				continue
			}
			done[change.Item.ID]++
			if text, told := texts[change.Item.ID]; told && change.Item.Type == "agentMessage" && text != change.Item.Content {
				t.Errorf("%s: its pieces are %q, the text %q", where, text, change.Item.Content)
			}
		case runtime.TextDelta:
			var piece string
			if err := json.Unmarshal(signal.Raw[change.Start:change.End], &piece); err != nil {
				t.Errorf("%s: %v", where, err)
			}
			texts[signal.ItemID] += piece
			if started[signal.ItemID] != 1 || done[signal.ItemID] != 0 {
				t.Errorf("%s: a piece of item %s, which is not open", where, signal.ItemID)
			}
		case runtime.InteractiveRequested:
			open[string(signal.RequestID)] = true
			if change.Asked.Context == nil || change.Summary == "" {
				t.Errorf("%s: asked %+v", where, change)
			}
		case runtime.RequestResolved:
			if !open[string(change.RequestID)] {
				t.Errorf("%s: %s was not open", where, change.RequestID)
			}
			delete(open, string(change.RequestID))
		}
	}
	for id, times := range started {
		if times != 1 || done[id] != 1 && !killed {
			t.Errorf("item %s began %d times and ended %d times", id, times, done[id])
		}
	}
	for id := range done {
		if started[id] != 1 {
			t.Errorf("item %s ended and did not begin", id)
		}
	}
	for turn := range begun {
		if ended[turn] != 1 && !killed {
			t.Errorf("turn %s has no end", turn)
		}
	}
	if len(begun) == 0 {
		t.Error("there is no turn")
	}
}
