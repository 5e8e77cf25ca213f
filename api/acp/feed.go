package acp

import (
	"encoding/json"
	"strings"

	"harness/api/door"
	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
)

// event is one stored or early event of a session, read once for all sockets.
type event struct {
	pos    int64 // the cursor after it, 0 for one that is not stored yet
	method string
	params json.RawMessage
	// item is the id of the item that it is about.
	item    string
	text    *stream.TextRef
	asked   string // the id of a request to a person
	settled string // the id of one that is settled
	ended   bool   // the session was deleted
	moved   bool   // the session may be in another project
	queue   bool   // the queued messages changed
	options bool   // the controls changed
}

// show reads a record; false for one that clients do not get.
func show(record journal.Record) (event, bool) {
	e := event{pos: stream.CursorAfter(record.Pos)}
	switch record.Type {
	case stream.EventNotification, stream.EventRequest:
		return e.line(record)
	case "approval_resolved", "tool_user_input_resolved", "tool_call_resolved":
		given := wire.Members(record.Payload, "approvalId", "requestId")
		e.settled = wire.Text(given[0]) + wire.Text(given[1])
		return e, e.settled != ""
	case session.EventDeleted:
		e.ended = true
	case session.EventProjectUpdated:
		e.moved = true
	case session.EventControlsChanged:
		e.options = true
	case "message_queue_updated":
		e.queue = true
	default:
		return e, false
	}
	return e, true
}

func (e event) line(record journal.Record) (event, bool) {
	meta, err := stream.MetaOf(&record.Event)
	if err != nil {
		return e, false
	}
	line, ok := stream.LineOf(&record.Event, meta)
	if !ok {
		return e, false
	}
	if e.method = wire.Text(line.Method); meta.Request != nil {
		e.asked = meta.Request.ID
		return e, true
	}
	if record.Type != stream.EventNotification {
		return e, false
	}
	e.params, e.text = line.Params, meta.Text
	switch e.method {
	case wire.MethodItemStarted, wire.MethodItemCompleted:
		e.item = wire.Text(wire.Members(wire.Members(e.params, "item")[0], "id")[0])
		return e, e.item != ""
	case wire.MethodTurnStarted, wire.MethodTurnCompleted, wire.MethodTurnPlan, wire.MethodTokenUsage, wire.MethodThreadNamed,
		wire.MethodError, wire.MethodWarning:
		return e, true
	}
	e.item = wire.Text(wire.Members(e.params, "itemId")[0])
	return e, e.text != nil && strings.HasPrefix(e.method, "item/")
}

// added returns the part of a delta behind an offset in UTF-16 code units.
func (e event) added(offset int64) string {
	return door.Behind(wire.Text(wire.Members(e.params, "delta")[0]), offset-e.text.Offset)
}
