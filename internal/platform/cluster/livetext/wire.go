package livetext

import (
	"encoding/json"

	"harness/internal/platform/journal"
)

// maxLine bounds a line of an answer or a request, maxDelta a carried event.
const (
	maxLine  = 1 << 20
	maxDelta = 256 << 10
)

// interest is a change of a node's followed sessions: an addition or a removal.
type interest struct {
	All  bool     `json:"all,omitempty"`
	Add  []string `json:"add,omitempty"`
	Drop []string `json:"drop,omitempty"`
}

// wireEvent is an event in transit. Fields that must stay byte for byte are strings, since the encoder would change
// whitespace in JSON.
type wireEvent struct {
	After   int64           `json:"after"`
	Session string          `json:"session"`
	Turn    string          `json:"turn,omitempty"`
	Item    string          `json:"item,omitempty"`
	Type    string          `json:"type"`
	Time    int64           `json:"time"`
	Source  string          `json:"source,omitempty"`
	Actor   string          `json:"actor,omitempty"`
	TraceID string          `json:"traceId,omitempty"`
	SpanID  string          `json:"spanId,omitempty"`
	Meta    json.RawMessage `json:"meta"`
	Payload []byte          `json:"payload"`
}

func (c *Carrier) toWire(after int64, e *journal.Event) (wireEvent, error) {
	meta := e.Meta
	if e.Known != nil {
		var err error
		if meta, err = c.opts.Meta(e.Known); err != nil {
			return wireEvent{}, err
		}
	}
	return wireEvent{after, e.SessionID, e.TurnID, e.ItemID, e.Type, e.Time, e.Source, e.Actor, e.TraceID, e.SpanID, meta,
		e.Payload}, nil
}

func (t *wireEvent) event() journal.Event {
	return journal.Event{SessionID: t.Session, TurnID: t.Turn, ItemID: t.Item, Type: t.Type, Time: t.Time, Source: t.Source,
		Actor: t.Actor, TraceID: t.TraceID, SpanID: t.SpanID, Meta: t.Meta, Payload: t.Payload}
}
