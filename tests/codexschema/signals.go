package codexschema

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/tests/codextest"
)

// Published checks what another runtime than codex published, against all of Versions.
func Published(t testing.TB, signals []runtime.Signal) {
	t.Helper()
	Signals(t, signals, Versions()...)
}

// Signals checks what a runtime published, as a client of codex gets it. It reports one error for each method and type
// of items.
func Signals(t testing.TB, signals []runtime.Signal, versions ...codextest.Version) {
	t.Helper()
	var checkers []*Checker
	for _, version := range versions {
		checkers = append(checkers, Of(t, version))
	}
	reported := map[string]bool{}
	for _, signal := range signals {
		frame := frameOf(t, signal)
		for _, c := range checkers {
			if frame == nil {
				continue
			}
			about := signal.Method + " " + wire.Text(wire.Members(wire.Members(signal.Params, "item")[0], "type")[0])
			if err := c.Frame(frame); err != nil && !reported[about] {
				reported[about] = true
				t.Errorf("%s: %v\n%.2000s", about, err, frame)
			}
		}
	}
}

// frameOf returns the frame that a client of codex gets for a signal, nil for none.
func frameOf(t testing.TB, signal runtime.Signal) json.RawMessage {
	t.Helper()
	switch {
	case signal.Kind == runtime.SignalRequest && signal.Change != nil:
		if !bytes.Equal(wire.CompleteRequest(signal.Method, signal.Params, 1), signal.Params) {
			t.Errorf("%s is not complete: %.2000s", signal.Method, signal.Params)
		}
		method, params := wire.Pending{Method: signal.Method, Params: signal.Params}.Native()
		return encoded(t, map[string]any{"id": 1, "method": method, "params": params})
	case signal.Kind != runtime.SignalNotification, strings.HasPrefix(signal.Method, "rawResponse"):
		return nil // the protocol without experiments lacks codex's raw responses
	}
	params := wire.CompleteNotification(signal.Method, signal.Params)
	switch wire.Text(wire.Members(wire.Members(signal.Params, "item")[0], "type")[0]) {
	case wire.ItemCleared:
		return nil // an item of this server alone
	case wire.ItemCommand:
		if !bytes.Equal(params, signal.Params) {
			t.Errorf("the item is not complete: %.2000s", signal.Params)
		}
	}
	return encoded(t, map[string]any{"method": signal.Method, "params": params})
}

func encoded(t testing.TB, frame map[string]any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(frame)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
