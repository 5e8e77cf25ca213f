package runtimetest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/tests/runtimetest"
)

// Each rule fails for signals that break it, and for no others.
func TestRulesAreBroken(t *testing.T) {
	t.Parallel()
	in := wire.Place{ThreadID: "c", TurnID: "t"}
	begin := wire.TurnStarted("c", wire.Turn{ID: "t"})
	end := wire.TurnCompleted("c", wire.Turn{ID: "t", Status: runtime.TurnDone})
	item, said := wire.ItemStarted(in, wire.AgentMessage("i", ""), 1), wire.ItemCompleted(in, wire.AgentMessage("i", "ab"), 2)
	delta := func(text string) runtime.Signal { return wire.MessageDelta(in, "i", text) }
	ask := wire.ApproveCommand(json.RawMessage(`1`), wire.Asking{Place: in, ItemID: "i"}, "ls", "", nil)
	closed := wire.RequestResolved("c", json.RawMessage(`1`))
	for name, c := range map[string]struct {
		fault   string
		rules   runtimetest.Rules
		signals []runtime.Signal
	}{
		"kept":               {"", runtimetest.Rules{Tidy: true}, []runtime.Signal{begin, item, delta("a"), delta("b"), ask, closed, said, end}},
		"begins twice":       {"began 2 times", runtimetest.Rules{}, []runtime.Signal{begin, begin, end}},
		"ends twice":         {"ended 2 times", runtimetest.Rules{}, []runtime.Signal{begin, end, end}},
		"begins late":        {"began 0 times", runtimetest.Rules{}, []runtime.Signal{end, begin}},
		"no end":             {"ended 0 times", runtimetest.Rules{}, []runtime.Signal{begin}},
		"item begins twice":  {"began 2 times", runtimetest.Rules{}, []runtime.Signal{begin, item, item, end}},
		"item ends twice":    {"ended 2 times", runtimetest.Rules{}, []runtime.Signal{begin, item, said, said, end}},
		"item never began":   {"began 0 times", runtimetest.Rules{}, []runtime.Signal{begin, said, end}},
		"loose":              {"", runtimetest.Rules{Loose: true}, []runtime.Signal{begin, said, end}},
		"item left open":     {"before its items", runtimetest.Rules{Tidy: true}, []runtime.Signal{begin, item, end}},
		"item outside":       {"outside of its turn", runtimetest.Rules{Tidy: true}, []runtime.Signal{begin, end, item, said}},
		"a piece missing":    {"its pieces are", runtimetest.Rules{}, []runtime.Signal{begin, item, delta("a"), said, end}},
		"a piece too late":   {"not open", runtimetest.Rules{Tidy: true}, []runtime.Signal{begin, item, said, delta("c"), end}},
		"request left open":  {"before its requests", runtimetest.Rules{}, []runtime.Signal{begin, item, ask, said, end}},
		"silent":             {"", runtimetest.Rules{Unresponsive: true}, []runtime.Signal{begin, item, ask, said, end}},
		"closed, never open": {"was not open", runtimetest.Rules{}, []runtime.Signal{begin, closed, end}},
	} {
		var faults []string
		for _, signal := range c.signals {
			if fault := c.rules.Take(signal); fault != "" {
				faults = append(faults, fault)
			}
		}
		faults = append(faults, c.rules.Open()...)
		if got := strings.Join(faults, "; "); (got == "") != (c.fault == "") || !strings.Contains(got, c.fault) {
			t.Errorf("%s: %q, want %q", name, got, c.fault)
		}
	}
}
