package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// For any escapes in a long text, a translator can read its ends from the short line. A result built from that, or
// from a text that contains it, equals the result from the whole line.
func TestElidedTextsComeBack(t *testing.T) {
	t.Parallel()
	const ends = 64 << 10
	for name, unit := range map[string]string{
		"plain": "word ", "lines": `a\n`, "escapes": `\\\"`, "controls": `\u001b`, "pairs": `\ud83d\ude00`, "halves": `\ud83d`,
		"letters": "ä€😀", "quotes": `\\`, "markers": "[harness left out 7 bytes: 0123456789abcdef]",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for shift := range 3 {
				raw := json.RawMessage(`"` + strings.Repeat("x", shift) + strings.Repeat(unit, 1_200_000/len(unit)) + `"`)
				var text string
				if err := json.Unmarshal(raw, &text); err != nil {
					t.Fatal(err)
				}
				line := []byte(`{"other":"` + name + `","text":` + string(raw) + `}`)
				short, elided := wire.Elide(line, ends)
				var read struct{ Other, Text string }
				if err := json.Unmarshal(short, &read); err != nil || len(short) > 16*ends || read.Other != name {
					t.Fatalf("the short line has %d bytes: %v", len(short), err)
				}
				if !strings.HasPrefix(text, read.Text[:ends]) || !strings.HasSuffix(text, read.Text[len(read.Text)-ends:]) {
					t.Errorf("its ends are others: %.80q, %q", read.Text, read.Text[len(read.Text)-80:])
				}
				in := wire.Place{ThreadID: "thread", TurnID: "turn"}
				made := []runtime.Signal{wire.ItemCompleted(in, wire.AgentMessage("item", "it said: "+read.Text+"."), 7)}
				want := wire.ItemCompleted(in, wire.AgentMessage("item", "it said: "+text+"."), 7)
				elided.Restore(made)
				var got, whole struct {
					Params struct{ Item struct{ Text string } }
				}
				if err := json.Unmarshal(made[0].Raw, &got); err != nil {
					t.Fatal(err)
				}
				if err := json.Unmarshal(want.Raw, &whole); err != nil || got != whole {
					t.Errorf("it is restored as %.80q (%d bytes), not %d: %v", got.Params.Item.Text, len(got.Params.Item.Text),
						len(whole.Params.Item.Text), err)
				}
				if made[0].Layout.Params.Of(made[0].Raw) == nil || !bytes.Equal(made[0].Params, made[0].Layout.Params.Of(made[0].Raw)) {
					t.Error("its members stand elsewhere")
				}
				change, _ := made[0].Change.(runtime.ItemChanged)
				if long := len(made[0].Raw) > runtime.LongItem+1024; change.Item.ID != "item" ||
					long != (len(change.Item.LongContent) == 1) {
					t.Errorf("%d bytes mean %s with %d texts", len(made[0].Raw), change.Item.ID, len(change.Item.LongContent))
				}
			}
		})
	}
}

// A request keeps the additions of its translator, and its context has the whole text.
func TestAnElidedRequestKeepsItsContext(t *testing.T) {
	t.Parallel()
	line := []byte(`{"command":"` + strings.Repeat("echo; ", 1<<20) + `"}`)
	short, elided := wire.Elide(line, 1<<10)
	var in struct{ Command string }
	if err := json.Unmarshal(short, &in); err != nil {
		t.Fatal(err)
	}
	signal := wire.ApproveCommand(json.RawMessage(`"1"`), wire.Asking{Place: wire.Place{ThreadID: "t"}}, in.Command, "/", nil)
	change, _ := signal.Change.(runtime.InteractiveRequested)
	change.Asked.Context, change.Asked.Options = json.RawMessage(short), []runtime.Option{{ID: "once"}}
	signal.Change = change
	signals := []runtime.Signal{signal}
	elided.Restore(signals)
	change, _ = signals[0].Change.(runtime.InteractiveRequested)
	if !bytes.Equal(change.Asked.Context, line) || len(change.Asked.Options) != 1 {
		t.Errorf("its context has %d bytes of %d, and %d options", len(change.Asked.Context), len(line), len(change.Asked.Options))
	}
	if !strings.HasPrefix(change.Summary, "Command approval required: echo; echo; ") ||
		strings.Contains(change.Summary, "left out") {
		t.Errorf("its summary is %.100q ... %q", change.Summary, change.Summary[len(change.Summary)-100:])
	}
	refused := signal
	refused.Change = nil
	signals = []runtime.Signal{refused}
	elided.Restore(signals)
	if signals[0].Change != nil || len(signals[0].Raw) < len(line) {
		t.Errorf("a refused one means %T", signals[0].Change)
	}
}

// Elide does not change short lines, or lines that are not JSON.
func TestOtherLinesAreNotElided(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"a":"b"}`, `{"a":"` + strings.Repeat("x", 2<<20), `[` + strings.Repeat(`"x",`, 1<<20) + `1]`} {
		if short, elided := wire.Elide([]byte(line), 1); string(short) != line || elided != nil {
			t.Errorf("%.20s has become %d bytes of %d", line, len(short), len(line))
		}
	}
}
