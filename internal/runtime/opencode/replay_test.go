package opencode

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/opencode/bridge"
	"harness/tests/runtimetest"
)

var update = flag.Bool("update", false,
	"write the golden lines instead of comparing them") //nolint:gochecknoglobals // as the testing package's own flags

// recorded is one line of a recording: output of the bridge, or the exit of the process.
type recorded struct {
	At   int64       `json:"at"`
	Line bridge.Line `json:"line"`
	Exit bool        `json:"exit"`
}

// Every recording of the real OpenCode gives the golden canonical lines and breaks no rule of a turn. The state is
// stored and read back between every two lines.
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
			stored = nil // another process starts without state
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

// checkRules fails when signals break the rules of every runtime, or contain no turn. With killed, the last turn of a
// process may have no end.
func checkRules(t *testing.T, signals []runtime.Signal, killed bool) {
	t.Helper()
	runtimetest.CheckRules(t, runtimetest.Rules{Tidy: true}, signals, killed)
	turns := 0
	for _, signal := range signals {
		switch change := signal.Change.(type) {
		case runtime.TurnStarted:
			turns++
		case runtime.InteractiveRequested:
			if change.Asked.Context == nil || change.Summary == "" {
				t.Errorf("asked %+v", change)
			}
		}
	}
	if turns == 0 {
		t.Error("there is no turn")
	}
}
