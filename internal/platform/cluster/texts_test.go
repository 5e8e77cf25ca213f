//go:build cluster && linux

package cluster_test

import (
	"encoding/json"

	"harness/internal/platform/journal"
	"harness/stream"
	"harness/tests/programtest"
)

// texts are those that deltas grow, by method and item.
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

// stored takes an event; false when it is no delta.
func (t texts) stored(r *journal.Record) bool {
	meta, err := stream.MetaOf(&r.Event)
	if err != nil || meta.Text == nil {
		return false
	}
	t.grow(meta.Text.Offset, r.Payload)
	return true
}

// shown takes a frame; false when it is no delta, of which clients have either the pieces or what is stored of them.
func (t texts) shown(f programtest.Frame) bool {
	if f.Offset == nil {
		return false
	}
	if f.Type == "notification" {
		t.grow(*f.Offset, f.Payload)
	}
	return true
}
