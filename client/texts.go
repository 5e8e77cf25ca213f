package client

import (
	"encoding/json"
	"fmt"
	"unicode/utf16"
)

// The methods of the lines that begin and end an item.
const (
	methodItemStarted   = "item/started"
	methodItemCompleted = "item/completed"
)

// Texts assembles the texts in frames from their deltas, and returns each character once even if frames repeat. Its
// zero value is ready to use; it is not safe for concurrent use.
type Texts struct {
	// sent has the lengths returned so far, in UTF-16 code units, by item and by part of it.
	sent map[string]map[string]int64
}

// Added returns the text that a frame adds to an item, and the runtime's method of the frame; item is "" for other
// frames.
func (t *Texts) Added(frame *Frame) (item, method, text string) {
	if frame.Type != "notification" {
		return "", "", ""
	}
	var line struct {
		Method string
		Params struct {
			ItemID, Delta              string
			ContentIndex, SummaryIndex *int
			Item                       struct{ ID string }
		}
	}
	if json.Unmarshal(frame.Payload, &line) != nil {
		return "", "", "" // not a line of a runtime with texts
	}
	if line.Method == methodItemStarted || line.Method == methodItemCompleted {
		delete(t.sent, line.Params.Item.ID) // its texts restart or have ended
	}
	if frame.Offset == nil {
		return "", "", ""
	}
	part := line.Method
	for _, index := range []*int{line.Params.ContentIndex, line.Params.SummaryIndex} {
		if index != nil {
			part += fmt.Sprint(" ", *index)
		}
	}
	if t.sent == nil {
		t.sent = map[string]map[string]int64{}
	}
	parts := t.sent[line.Params.ItemID]
	if parts == nil {
		parts = map[string]int64{}
		t.sent[line.Params.ItemID] = parts
	}
	units := utf16.Encode([]rune(line.Params.Delta))
	known, end := parts[part], *frame.Offset+int64(len(units))
	if end <= known {
		return line.Params.ItemID, line.Method, ""
	}
	parts[part] = end
	return line.Params.ItemID, line.Method, string(utf16.Decode(units[max(0, known-*frame.Offset):]))
}
