package archive

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"harness/journal"
)

// line is a stored event. Meta and payload follow as its last members, byte for byte; one with line breaks, which would
// be several lines, is a text instead.
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

// Encode is a record as a line of the archive, with its line break.
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

// decode reads a line.
func decode(text []byte) (r journal.Record, err error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return r, err
	}
	r = journal.Record{Pos: l.Pos, Seq: l.Seq, SchemaVersion: l.SchemaVersion, Event: journal.Event{SessionID: l.SessionID,
		TurnID: l.TurnID, ItemID: l.ItemID, Type: l.Type, Time: l.Time, Source: l.Source, Actor: l.Actor, Broadcast: l.Broadcast,
		TraceID: l.TraceID, SpanID: l.SpanID, Meta: l.Meta, Payload: l.Payload}}
	if l.MetaText != "" {
		r.Meta = json.RawMessage(l.MetaText)
	}
	if l.PayloadText != "" {
		r.Payload = json.RawMessage(l.PayloadText)
	}
	if r.Meta == nil || r.Payload == nil {
		return r, errors.New("it has no meta or no payload")
	}
	return r, nil
}
