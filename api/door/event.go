package door

import (
	"encoding/json"
	"strings"

	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/stream"
)

// Event is a record of a session, read once for all clients of a door.
type Event struct {
	Pos int64 // the cursor after it, 0 for one that is not stored yet
	// Method and Params are those of a runtime's notification or request.
	Method string
	Params json.RawMessage
	// Item is the id of the item that a notification is about, Text the text that grows in it.
	Item    string
	Text    *stream.TextRef
	Asked   *stream.RequestRef // a request to a person
	Settled *Settled
	Deleted bool // the session was deleted
	Moved   bool // the session may be in another project
}

// Settled is how a request to a person ended.
type Settled struct{ ID, Decision, By string }

// ReadEvent reads a record; false for one that is none of these.
func ReadEvent(record *journal.Record) (e Event, ok bool) {
	e.Pos = stream.CursorAfter(record.Pos)
	switch record.Type {
	case stream.EventNotification, stream.EventRequest:
		return e, e.read(record)
	case entryof.EventApprovalResolved, entryof.EventToolInputResolved, entryof.EventToolCallResolved:
		given := wire.Members(record.Payload, "approvalId", "requestId", "decision")
		e.Settled = &Settled{wire.Text(given[0]) + wire.Text(given[1]), wire.Text(given[2]), record.Actor}
		return e, e.Settled.ID != ""
	case session.EventDeleted:
		e.Deleted = true
	case session.EventProjectUpdated:
		e.Moved = true
	default:
		return e, false
	}
	return e, true
}

func (e *Event) read(record *journal.Record) bool {
	meta, err := stream.MetaOf(&record.Event)
	if err != nil {
		return false
	}
	line, ok := stream.LineOf(&record.Event, meta)
	if !ok {
		return false
	}
	e.Method, e.Params = wire.Text(line.Method), line.Params
	if e.Asked = meta.Request; e.Asked != nil {
		return true
	}
	e.Text = meta.Text
	switch {
	case e.Method == wire.MethodItemStarted || e.Method == wire.MethodItemCompleted:
		e.Item = wire.Text(wire.Members(wire.Members(e.Params, "item")[0], "id")[0])
	case strings.HasPrefix(e.Method, "item/"):
		e.Item = wire.Text(wire.Members(e.Params, "itemId")[0])
	}
	return record.Type == stream.EventNotification
}

// Added returns the part of a delta behind an offset in UTF-16 code units.
func (e *Event) Added(offset int64) string {
	return Behind(wire.Text(wire.Members(e.Params, "delta")[0]), offset-e.Text.Offset)
}
