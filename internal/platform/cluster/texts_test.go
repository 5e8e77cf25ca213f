//go:build cluster && linux

package cluster_test

import (
	"encoding/json"

	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/programtest"
)

// texts are the texts that deltas extend, by method and item.
type texts map[string]string

// grow follows the rule for clients: text = text.slice(0, offset) + delta. All texts here are ASCII.
func (t texts) grow(offset int64, line json.RawMessage) {
	var said struct {
		Method string
		Params struct{ ItemID, Delta string }
	}
	if json.Unmarshal(line, &said) != nil {
		return
	}
	key := said.Method + " " + said.Params.ItemID
	t[key] = t[key][:min(int(offset), len(t[key]))] + said.Params.Delta
}

// stored adds an event; false if it is not a delta.
func (t texts) stored(r *journal.Record) bool {
	meta, err := stream.MetaOf(&r.Event)
	if err != nil || meta.Text == nil {
		return false
	}
	t.grow(meta.Text.Offset, r.Payload)
	return true
}

// shown adds a frame; false if it is not a delta. Clients get either a delta's pieces or the stored delta.
func (t texts) shown(f programtest.Frame) bool {
	if f.Offset == nil {
		return false
	}
	if f.Type == "notification" {
		t.grow(*f.Offset, f.Payload)
	}
	return true
}
