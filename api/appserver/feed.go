package appserver

import (
	"encoding/json"
	"strings"

	"harness/api/door"
	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/stream"
)

// event is one stored or early event of a session, translated once for all sockets.
type event struct {
	pos    int64 // the cursor after it, 0 for one that is not stored yet
	method string
	// params are those of a notification, complete for clients; message is the whole notification.
	params  json.RawMessage
	message []byte
	// item is set for an event of an item, said for a user's message: its text.
	item, said string
	text       *stream.TextRef
	asked      *asked
	settled    *settled
	ended      bool // the session was deleted
	moved      bool // the session may be in another project
}

// asked is a request to a person.
type asked struct {
	id, kind, method, session string
	at                        int64
	params, questions         json.RawMessage
}

// settled is how a request ended.
type settled struct{ id, decision, by string }

// show translates a record; false for one that clients do not get.
func show(record journal.Record) (event, bool) {
	e := event{pos: stream.CursorAfter(record.Pos)}
	switch record.Type {
	case stream.EventNotification, stream.EventRequest:
		return e.line(record)
	case "approval_resolved", "tool_user_input_resolved", "tool_call_resolved":
		var payload struct {
			ApprovalID string `json:"approvalId"`
			RequestID  string `json:"requestId"`
			Decision   string `json:"decision"`
		}
		if json.Unmarshal(record.Payload, &payload) != nil {
			return e, false
		}
		e.settled = &settled{payload.ApprovalID + payload.RequestID, payload.Decision, record.Actor}
		return e, true
	case session.EventDeleted:
		e.ended = true
		return e, true
	case session.EventProjectUpdated:
		e.moved = true
		return e, true
	}
	return e, false
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
	e.method = wire.Text(line.Method)
	if meta.Request != nil {
		e.asked = &asked{id: meta.Request.ID, kind: meta.Request.Kind, method: e.method, session: record.SessionID,
			at: meta.Request.CreatedAt, params: line.Params, questions: meta.Request.Questions}
		return e, true
	}
	if record.Type != stream.EventNotification || !passes(e.method) {
		return e, false
	}
	e.params, e.text = line.Params, meta.Text
	switch {
	case e.method == wire.MethodItemStarted || e.method == wire.MethodItemCompleted:
		params := jsonobject.Parse(line.Params)
		item, known := completeItem(params.Get("item"))
		if !known {
			return e, false
		}
		read, _ := wire.ReadItem(item)
		if e.item = read.ID; read.Type == wire.ItemUserMessage {
			e.said = read.Content
		}
		e.params = params.Set("item", item).Encode()
	case strings.HasPrefix(e.method, "item/"):
		e.item = wire.Text(wire.Members(line.Params, "itemId")[0])
	}
	e.message = form.Request("", e.method, e.params)
	return e, true
}

// passes reports whether clients of this door get a notification of a runtime. The door itself reports the
// status and settled requests, and an account is the runtime's.
func passes(method string) bool {
	switch method {
	case wire.MethodThreadNamed, wire.MethodTokenUsage, wire.MethodError, wire.MethodWarning, wire.MethodModelRerouted:
		return true
	}
	return strings.HasPrefix(method, "item/") || strings.HasPrefix(method, "turn/")
}

// after returns a delta without the text before an offset in UTF-16 code units.
func (e event) after(offset int64) []byte {
	params := jsonobject.Parse(e.params)
	rest := door.Behind(wire.Text(params.Get("delta")), offset-e.text.Offset)
	return form.Request("", e.method, params.Set("delta", javascript.MustEncode(rest)).Encode())
}
