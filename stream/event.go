// Package stream shows the journal to clients: frames derived from events by pure functions, filters, and the websocket
// at /api/stream.
//
// It owns the codex-manager wire names of the stream and the order, filtering and resuming of frames. It must never
// know package session, HTTP resources, or a runtime process; of a runtime it knows only the canonical vocabulary.
package stream

import (
	"bytes"
	"encoding/json"

	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
)

// Event types from which the stream derives several frames. Any other journal event whose type has no dot is one frame
// of that type with the event's payload. A type with a dot is internal and yields no frame.
const (
	// EventNotification is a runtime notification. Its payload is the native line byte for byte, its meta a Meta, its
	// source the runtime.
	EventNotification = "runtime.notification"
	// EventRequest is a runtime's request; its payload is the native line byte for byte, its meta a Meta, its source the
	// runtime.
	EventRequest = "runtime.request"
	// ConsoleEvents begins the types of events that only the console's view receives, as frames of the rest of the type.
	ConsoleEvents = "console."
)

// ownSource is journal.Event.Source of our own lines in older rows; codex was the only runtime then.
const ownSource = "harness"

// Meta is the state at the time of an event that a replay needs to yield the same frames.
type Meta struct {
	// ReceivedAt is when the harness read the line, in ms.
	ReceivedAt int64 `json:"receivedAt,omitempty"`
	// TurnID is the signal's context.turnId: the turn the line names, else the thread's running turn ("" shows as null).
	TurnID string `json:"turnId,omitempty"`
	// Session is the signal's session member, nil when the thread is not known.
	Session *SessionRef `json:"session,omitempty"`
	// SystemOwned: only sockets filtered on exactly this thread get the frames, and there is no app_server signal.
	SystemOwned bool `json:"systemOwned,omitempty"`
	// Purged: the session is deleted; there is no app_server signal.
	Purged bool `json:"purged,omitempty"`
	// RequestID is our id of the line's interactive request, "" for none. It is set on every EventRequest, and on every
	// notification that a request is closed. Older rows lack it; their signals show the runtime's id, as before.
	RequestID *string `json:"requestId,omitempty"`
	// Request is set on an EventRequest that a person must answer.
	Request *RequestRef `json:"request,omitempty"`
	// Text is set on a notification that adds to a text.
	Text *TextRef `json:"text,omitempty"`
	// Messages is set on the end of a turn: the number of its transcript entries.
	Messages *int64 `json:"messages,omitempty"`
	// Node is the node of a runtime's message without a session, "" on a single node and in older rows.
	Node string `json:"node,omitempty"`
	// Layout holds the offsets of the parts of a runtime's line in the payload, nil for other events.
	Layout *runtime.Layout `json:"layout,omitempty"`
}

// TextRef is the position of a delta in its text. Deltas are published one by one before they are stored, and stored
// joined, one event for each group.
type TextRef struct {
	// Group identifies the deltas that are stored together: no two groups have the same number.
	Group int64 `json:"group"`
	// Offset is the length of the text before this delta. Length is the length of the delta. Both are in UTF-16 code
	// units.
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
	// At is the offset in the event's payload at which the delta, a JSON string, begins.
	At int `json:"at"`
	// Into is the text's place in its entry (runtime.TextDelta.Into), "" in events of older servers.
	Into string `json:"into,omitempty"`
	// First is set on the first delta of a group.
	First bool `json:"first,omitempty"`
}

// SessionRef is the session member of a signal.
type SessionRef struct {
	ID        string  `json:"id"`
	Title     string  `json:"title"`
	ProjectID *string `json:"projectId"`
}

// RequestRef describes an interactive request in our own terms.
type RequestRef struct {
	// ID is our id, never the runtime's.
	ID string `json:"id"`
	// Kind is approval, tool_input or tool_call.
	Kind    string `json:"kind"`
	Summary string `json:"summary"`
	// ThreadID, TurnID and ItemID are as stored with the request, "" when unknown.
	ThreadID string `json:"threadId"`
	TurnID   string `json:"turnId"`
	ItemID   string `json:"itemId"`
	// CreatedAt is in ms.
	CreatedAt int64 `json:"createdAt"`
	// Decisions is the JSON list of the decisions that the runtime offers. Questions is the list that replaces
	// params.questions. Either is nil for none.
	Decisions json.RawMessage `json:"decisions,omitempty"`
	Questions json.RawMessage `json:"questions,omitempty"`
}

// SetMeta gives an event its meta, which must not change afterwards.
func SetMeta(event *journal.Event, meta *Meta) { event.Meta, event.Known = EncodeMeta(*meta), meta }

// MetaOf returns the meta of an event, which is read-only.
func MetaOf(event *journal.Event) (*Meta, error) {
	if known, ok := event.Known.(*Meta); ok {
		return known, nil
	}
	meta := &Meta{}
	if len(event.Meta) > 0 {
		if err := json.Unmarshal(event.Meta, meta); err != nil {
			return nil, err
		}
	}
	return meta, nil
}

// Line holds the parts of a runtime's line. They are slices of the event's payload; Params and ID are nil when the
// line has none.
type Line struct {
	// Method is JSON, as the runtime wrote it.
	Method, Params, ID json.RawMessage
}

// LineOf splits the line of an EventNotification or EventRequest into its parts; false if it names no method.
func LineOf(event *journal.Event, meta *Meta) (line Line, ok bool) {
	if meta.Layout == nil {
		return line, false
	}
	line = Line{meta.Layout.Method.Of(event.Payload), meta.Layout.Params.Of(event.Payload),
		meta.Layout.ID.Of(event.Payload)}
	return line, len(line.Method) > 1 && line.Method[0] == '"'
}

// Upcast brings an event of an older schema version to this one (journal.Options.Upcast). Before version 2 the
// meta of a runtime's line had no offsets of its parts. A payload that is not such a line stays unchanged.
func Upcast(version int, event journal.Event) journal.Event {
	if version >= 2 || event.Type != EventNotification && event.Type != EventRequest {
		return event
	}
	meta := bytes.TrimSpace(event.Meta)
	_, layout, ok := wire.LayoutOf(event.Payload)
	if !ok || len(meta) > 0 && meta[0] != '{' {
		return event
	}
	added, err := json.Marshal(struct {
		Layout runtime.Layout `json:"layout"`
	}{layout})
	if err != nil {
		return event // a layout holds only numbers
	}
	if len(meta) > 0 && !bytes.HasPrefix(bytes.TrimSpace(meta[1:]), []byte("}")) {
		added = append(append(added[:len(added)-1], ','), meta[1:]...)
	}
	event.Meta = added
	return event
}

// EncodeMeta returns the JSON of an event's meta.
func EncodeMeta(meta Meta) json.RawMessage {
	encoded, err := json.Marshal(meta)
	if err != nil {
		// Meta holds only strings and numbers, so encoding/json cannot fail on it.
		panic("stream: encode meta: " + err.Error())
	}
	return encoded
}
