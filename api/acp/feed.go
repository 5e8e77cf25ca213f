package acp

import (
	"strings"

	"harness/api/door"
	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
)

// event is one stored or early event of a session, read once for all sockets.
type event struct {
	door.Event
	queue   bool // the queued messages changed
	options bool // the controls changed
}

// show reads a record; false for one that clients do not get.
func show(record journal.Record) (event, bool) {
	read, ok := door.ReadEvent(&record)
	e := event{Event: read, queue: record.Type == "message_queue_updated", options: record.Type == session.EventControlsChanged}
	switch {
	case e.queue, e.options:
		return e, true
	case !ok, e.Method == "", e.Asked != nil:
		return e, ok
	}
	switch e.Method {
	case wire.MethodItemStarted, wire.MethodItemCompleted:
		return e, e.Item != ""
	case wire.MethodTurnStarted, wire.MethodTurnCompleted, wire.MethodTurnPlan, wire.MethodTokenUsage, wire.MethodThreadNamed,
		wire.MethodError, wire.MethodWarning:
		return e, true
	}
	return e, e.Text != nil && strings.HasPrefix(e.Method, "item/")
}
