package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/journal"
)

// line is a stored event. Meta and payload follow as its last members, byte for byte. A meta or payload with line
// breaks would span several lines, so it is stored as a string instead.
type line struct {
	Pos           int64           `json:"pos"`
	Seq           int64           `json:"seq"`
	SchemaVersion int             `json:"schemaVersion"`
	SessionID     string          `json:"sessionId"`
	TurnID        string          `json:"turnId,omitempty"`
	ItemID        string          `json:"itemId,omitempty"`
	Type          string          `json:"type"`
	Time          int64           `json:"time"`
	Source        string          `json:"source"`
	Actor         string          `json:"actor,omitempty"`
	Broadcast     bool            `json:"broadcast,omitempty"`
	TraceID       string          `json:"traceId,omitempty"`
	SpanID        string          `json:"spanId,omitempty"`
	Meta          json.RawMessage `json:"meta,omitempty"`
	MetaText      string          `json:"metaText,omitempty"`
	Payload       json.RawMessage `json:"payload,omitempty"`
	PayloadText   string          `json:"payloadText,omitempty"`
}

// Encode returns a record as a line of the archive, with its line break.
func Encode(r *journal.Record) ([]byte, error) {
	l := line{Pos: r.Pos, Seq: r.Seq, SchemaVersion: r.SchemaVersion, SessionID: r.SessionID, TurnID: r.TurnID, ItemID: r.ItemID,
		Type: r.Type, Time: r.Time, Source: r.Source, Actor: r.Actor, Broadcast: r.Broadcast, TraceID: r.TraceID, SpanID: r.SpanID}
	text, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encode event %d: %w", r.Pos, err)
	}
	text = text[:len(text)-1]
	for _, member := range []struct {
		name string
		json []byte
	}{{"meta", r.Meta}, {"payload", r.Payload}} {
		if bytes.ContainsAny(member.json, "\n\r") {
			quoted, err := json.Marshal(string(member.json))
			if err != nil {
				return nil, fmt.Errorf("encode event %d: %w", r.Pos, err)
			}
			member.name, member.json = member.name+"Text", quoted
		}
		text = fmt.Appendf(text, `,"%s":%s`, member.name, member.json)
	}
	return append(text, "}\n"...), nil
}

// decodeHead reads the fields before meta and payload from a line, or from the start of one.
func decodeHead(text []byte) (r journal.Record, err error) {
	end, err := headEnd(text)
	if err != nil {
		return r, err
	}
	var l line
	if err := json.Unmarshal(append(bytes.Clone(text[:end]), '}'), &l); err != nil {
		return r, err
	}
	return journal.Record{Pos: l.Pos, Seq: l.Seq, SchemaVersion: l.SchemaVersion, Event: journal.Event{SessionID: l.SessionID,
		TurnID: l.TurnID, ItemID: l.ItemID, Type: l.Type, Time: l.Time, Source: l.Source, Actor: l.Actor, Broadcast: l.Broadcast,
		TraceID: l.TraceID, SpanID: l.SpanID}}, nil
}

// headEnd returns the offset in a line at which the members before meta and payload end.
func headEnd(text []byte) (int64, error) {
	members := json.NewDecoder(bytes.NewReader(text))
	for before := int64(0); ; before = members.InputOffset() {
		name, err := members.Token()
		if err != nil {
			return 0, fmt.Errorf("its beginning is none of an event: %w", err)
		}
		switch name {
		case json.Delim('{'):
			continue
		case "meta", "metaText":
			return before, nil
		}
		if value, err := members.Token(); err != nil {
			return 0, fmt.Errorf("its beginning is none of an event: %w", err)
		} else if _, nested := value.(json.Delim); nested {
			return 0, errors.New("its meta does not stand where it should")
		}
	}
}
