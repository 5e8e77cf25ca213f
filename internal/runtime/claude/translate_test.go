package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/tests/runtimetest"
)

var update = flag.Bool("update", false, "write the golden files anew")

// recorded is a line of a recording: output of a process of the real Claude Code, or its kill.
type recorded struct {
	Proc   string          `json:"proc"`
	Killed bool            `json:"killed"`
	Line   json.RawMessage `json:"line"`
}

func readRecording(t *testing.T, name string) (lines []recorded) {
	t.Helper()
	raw, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	scanner := bufio.NewScanner(bytes.NewReader(raw))
	scanner.Buffer(nil, 8<<20)
	for scanner.Scan() {
		var one recorded
		if err := json.Unmarshal(scanner.Bytes(), &one); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		lines = append(lines, one)
	}
	return lines
}

// said returns the meaning of a line for a state that was stored and read back.
func said(t testing.TB, stored []byte, line json.RawMessage, at int64) ([]runtime.Signal, []byte) {
	t.Helper()
	s := state{Thread: "thread-1"}
	if stored != nil {
		if err := json.Unmarshal(stored, &s); err != nil {
			t.Fatalf("the state cannot be read back: %v", err)
		}
	}
	var e event
	if err := json.Unmarshal(line, &e); err != nil && e.Type == "" {
		return nil, stored
	}
	signals := s.translate(&e, at)
	return signals, encode(s)
}

// Every recording of the real Claude Code gives the lines of the golden file. The state is stored and read back
// between every two lines.
func TestRecordings(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	tried := 0
	for _, name := range files {
		if strings.HasSuffix(name, ".golden.jsonl") {
			continue
		}
		tried++
		t.Run(strings.TrimSuffix(filepath.Base(name), ".jsonl"), func(t *testing.T) {
			t.Parallel()
			replay(t, name)
		})
	}
	if tried < 45 {
		t.Errorf("only %d recordings", tried)
	}
}

func replay(t *testing.T, name string) {
	states, rules, killed := map[string][]byte{}, map[string]*runtimetest.Rules{}, map[string]bool{}
	var golden bytes.Buffer
	for i, one := range readRecording(t, name) {
		if one.Killed {
			killed[one.Proc] = true
			continue
		}
		signals, after := said(t, states[one.Proc], one.Line, 1_700_000_000_000+int64(i)*1000)
		states[one.Proc] = after
		if rules[one.Proc] == nil {
			rules[one.Proc] = &runtimetest.Rules{Tidy: true, Unresponsive: true}
		}
		for _, signal := range signals {
			if _, is := signal.Change.(runtime.BackgroundChanged); is {
				continue // clients get no line for it
			}
			fmt.Fprintf(&golden, "%s\n", signal.Raw)
			if fault := rules[one.Proc].Take(signal); fault != "" {
				t.Errorf("line %d: %s: %s", i+1, fault, signal.Raw)
			}
		}
	}
	for proc, kept := range rules {
		if !killed[proc] {
			for _, fault := range kept.Open() {
				t.Error(fault)
			}
		}
	}
	path := strings.TrimSuffix(name, ".jsonl") + ".golden.jsonl"
	if *update {
		if err := os.WriteFile(path, golden.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: write it with: go test ./internal/runtime/claude -run TestRecordings -update", err)
	}
	if !bytes.Equal(golden.Bytes(), want) {
		got, wanted := strings.Split(golden.String(), "\n"), strings.Split(string(want), "\n")
		for i := range max(len(got), len(wanted)) {
			if i >= len(got) || i >= len(wanted) || got[i] != wanted[i] {
				t.Fatalf("line %d of %s differs:\n got %s\nwant %s", i+1, path, at(got, i), at(wanted, i))
			}
		}
	}
}

func at(lines []string, i int) string {
	if i >= len(lines) {
		return "nothing"
	}
	return lines[i]
}
