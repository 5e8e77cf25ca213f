// Package journal is the append-only event log from which every view is derived.
//
// It owns the order of events (global pos, per-session seq), the group-commit writer through which every state change
// of the product goes, and cursor reads. It must never know what an event means: types and payloads belong to the
// packages that append them.
package journal

import (
	"bytes"
	"encoding/json"
)

// SchemaVersion is written with every new event. Readers upcast older versions (Options.Upcast). Since version 2 the
// meta of an event made from a runtime's line has the offsets of the line's parts.
const SchemaVersion = 2

// Event is what a producer appends.
type Event struct {
	// SessionID is the session the event belongs to, "" for a global one.
	SessionID string
	// TurnID and ItemID are set when known.
	TurnID, ItemID string
	// Type is the event's name in the vocabulary of the package that appends it, for example "runtime.notification".
	Type string
	// Time is in ms since the epoch; 0 means now.
	Time int64
	// Source is the package or runtime that the event came from. Actor caused it ("" for none).
	Source, Actor string
	// Role is the role under which Actor was authorized, "" if unknown. It is stored as the member role of Meta, and is
	// not filled in when events are read.
	Role string
	// Broadcast marks an event for every reader, whatever session the reader follows.
	Broadcast bool
	// TraceID and SpanID are W3C trace ids in hex, "" when there is no trace.
	TraceID, SpanID string
	// Meta is the state at the time of the event that a later reader needs, as one JSON object; nil means {}.
	Meta json.RawMessage
	// Known is the producer's decoded Meta, so that readers in this process need not decode it again. It is nil in
	// records read from the store. It must not change.
	Known any
	// Payload is the source event, kept byte for byte; nil means null. It must be valid UTF-8 JSON.
	Payload json.RawMessage
}

// attribute sets the origin of an event that has none.
func (e *Event) attribute(origin Origin) {
	if e.Actor == "" {
		e.Actor = origin.Actor
	}
	if e.Role == "" && e.Actor == origin.Actor {
		e.Role = origin.Role
	}
	if e.TraceID == "" {
		e.TraceID, e.SpanID = origin.TraceID, origin.SpanID
	}
}

// Record is a committed event.
type Record struct {
	Event
	// Pos is the global position: it starts at 1, without gaps, in commit order. Seq is the equivalent within the
	// session (or within the global events).
	Pos, Seq int64
	// SchemaVersion is the version the payload was written in, before upcasting.
	SchemaVersion int
}

// metaWithRole returns Meta as stored.
func (e *Event) metaWithRole() json.RawMessage {
	if e.Meta == nil {
		e.Meta = json.RawMessage("{}")
	}
	if e.Role == "" || len(e.Meta) < 2 {
		return e.Meta
	}
	role, err := json.Marshal(e.Role)
	if err != nil { // a string always marshals
		return e.Meta
	}
	meta := append(append([]byte(`{"role":`), role...), ',')
	if rest := bytes.TrimSpace(e.Meta[1:]); rest[0] == '}' {
		meta = meta[:len(meta)-1]
	}
	return append(meta, e.Meta[1:]...)
}
