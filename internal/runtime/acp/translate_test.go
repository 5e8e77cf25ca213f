package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/acp/words"
	"harness/internal/runtime/wire"
	"harness/tests/runtimetest"
)

var writeGolden = flag.Bool("update", false, "write the golden files")

// recorded is a line of a recording: input of the agent (In), or its output (Out).
type recorded struct {
	At   int64           `json:"at"`
	Proc string          `json:"proc"`
	In   json.RawMessage `json:"in"`
	Out  json.RawMessage `json:"out"`
}

// player plays a recording. Input of the agent changes the state as in the adapter, and output is translated. Between
// every two lines the state is encoded and decoded.
type player struct {
	t       *testing.T
	profile Profile
	heir
	proc    string
	waiting []func() []runtime.Signal // messages to a busy conversation
	options map[string][]option
	signals []runtime.Signal
}

// heir is a translator that several servers use, one after another.
type heir struct {
	translator
	// lines are the lines of the process so far; their numbers are their end offsets. stored is the state that the
	// next server gets.
	lines  []line
	stored json.RawMessage
}

// feed processes a line as a server does; span is that of Runtime.
func (h *heir) feed(l *line, at, span int64) []runtime.Signal {
	h.lines = append(h.lines, *l)
	h.upTo = int64(len(h.lines))
	signals, changed := h.said(l, at)
	if changed = h.state.keepOld(h.upTo, span) || changed; changed || h.unsaid {
		h.stored, h.unsaid = h.state.encode(), false
	}
	return signals
}

// resume continues as the next server does. Another test covers input of the agent that is not stored yet.
func (h *heir) resume() {
	if h.unsaid {
		h.stored = h.state.encode()
	}
	h.state = decodeState(h.stored)
	for i, from := int64(0), h.state.needs(); from > 0 && i < int64(len(h.lines)); i++ {
		if i >= from {
			h.reread(&h.lines[i], i+1)
		}
	}
}

func recordings(t testing.TB, profile string) map[string][]recorded {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", profile, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings of %s: %v", profile, err)
	}
	out := map[string][]recorded{}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(bytes.NewReader(raw)); ; {
			lines.Buffer(nil, 1<<20)
			for lines.Scan() {
				var r recorded
				if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				name := strings.TrimSuffix(filepath.Base(file), ".jsonl")
				out[name] = append(out[name], r)
			}
			break
		}
	}
	return out
}

func (p *player) play(r recorded) {
	if r.Proc != p.proc {
		p.proc, p.heir = r.Proc, heir{translator: translator{profile: &p.profile, threads: map[string]string{}}}
		p.options, p.waiting = map[string][]option{}, nil
	}
	p.resume()
	raw := r.Out
	if raw == nil {
		raw = r.In
	}
	var l line
	if err := json.Unmarshal(raw, &l); err != nil {
		p.t.Fatal(err)
	}
	if r.In != nil {
		p.sent(&l, r.At)
		return
	}
	var made struct {
		SessionID string `json:"sessionId"`
	}
	if json.Unmarshal(l.Result, &made) == nil && made.SessionID != "" {
		p.threads[made.SessionID] = "thread-" + made.SessionID
		return
	}
	if l.Method == "" { // the answer to a message has the turn's id
		var id string
		if json.Unmarshal(l.ID, &id) == nil {
			l.ID, _ = json.Marshal(turnPrefix + p.proc + "-" + id)
		}
	}
	if l.Method == words.Permission {
		var asked params
		if err := json.Unmarshal(l.Params, &asked); err != nil {
			p.t.Fatal(err)
		}
		p.options[string(l.ID)] = asked.Options
	}
	p.signals = append(p.signals, p.feed(&l, r.At, 5)...)
	for i, begin := range p.waiting {
		if begin != nil {
			if signals := begin(); signals != nil {
				p.signals, p.waiting[i] = append(p.signals, signals...), nil
			}
		}
	}
}

// inputOf returns the input of a message whose prompt was recorded: clients send images as URLs.
func inputOf(prompt []json.RawMessage) (input []json.RawMessage) {
	for _, block := range prompt {
		var image struct{ Type, Data, MimeType string }
		_ = json.Unmarshal(block, &image) // another block stays
		if image.Type == "image" {
			block = json.RawMessage(fmt.Sprintf(`{"type":"image","url":"data:%s;base64,%s"}`, image.MimeType, image.Data))
		}
		input = append(input, block)
	}
	return input
}

// sent records input of the agent.
func (p *player) sent(l *line, at int64) {
	var in struct {
		SessionID string            `json:"sessionId"`
		Prompt    []json.RawMessage `json:"prompt"`
	}
	_ = json.Unmarshal(l.Params, &in) // an answer has none
	switch l.Method {
	case words.Prompt:
		var turn string
		if err := json.Unmarshal(l.ID, &turn); err != nil {
			p.t.Fatal(err)
		}
		turn = p.proc + "-" + turn
		begin := func() []runtime.Signal {
			if p.state.Conversations[in.SessionID] != nil {
				return nil
			}
			of := conversation{Thread: "thread-" + in.SessionID, Turn: turn, Cwd: "/home/dev/work"}
			return p.begin(in.SessionID, of, userItem{Type: wire.ItemUserMessage, ID: turn + ":user",
				Content: inputOf(in.Prompt)}, at)
		}
		if signals := begin(); signals != nil {
			p.signals = append(p.signals, signals...)
		} else {
			p.waiting = append(p.waiting, begin)
		}
	case words.Load, words.Resume:
		p.threads[in.SessionID] = "thread-" + in.SessionID
	case words.Cancel:
		if of := p.state.Conversations[in.SessionID]; of != nil {
			of.Cancelled = true
		}
	case "":
		var answer struct {
			Action  string
			Outcome struct{ Outcome, OptionID string }
		}
		_ = json.Unmarshal(l.Result, &answer) // an error has none
		decision := answer.Action
		for _, offered := range p.options[string(l.ID)] {
			if offered.ID == answer.Outcome.OptionID {
				decision = offered.neutral(&p.profile).Decision
			}
		}
		if decision == "" {
			decision = actionCancel
		}
		p.noteAnswer(l.ID, decision)
	}
}

// Every recording of the real agents gives the golden canonical lines, with a takeover from the stored state at any
// line.
func TestRecordingsBecomeCanonicalLines(t *testing.T) {
	t.Parallel()
	for _, profile := range Shipped() {
		t.Run(profile.Name, func(t *testing.T) {
			t.Parallel()
			var got bytes.Buffer
			all := recordings(t, profile.Name)
			for _, name := range slices.Sorted(maps.Keys(all)) {
				p := &player{t: t, profile: profile}
				for _, r := range all[name] {
					p.play(r)
				}
				fmt.Fprintf(&got, "== %s\n", name)
				for _, s := range p.signals {
					fmt.Fprintf(&got, "%s\n", s.Raw)
				}
				t.Run(name, func(t *testing.T) {
					// Killed agents, and one that never answered, leave open turns; the ends of their processes close
					// them.
					runtimetest.CheckRules(t, runtimetest.Rules{Tidy: true}, p.signals, strings.HasPrefix(name, "kill9") || profile.Name == "gemini" && name == "err-429")
				})
			}
			golden := filepath.Join("testdata", profile.Name+".golden")
			if *writeGolden {
				if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Bytes(), want) {
				t.Errorf("the lines differ from %s: %s; see what changed with -update and git diff", golden,
					firstDifference(got.String(), string(want)))
			}
		})
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d is\n%s\nand not\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines and not %d", len(g), len(w))
}
