package stream

import (
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
)

// Frames derives the frames that clients get for one journal record, in the original's order. It depends on the record
// alone, so a replay yields the same bytes as the live stream. Texts are the exception: deltas are published one by one
// and stored joined (TextRef). An event whose type has a dot yields no frame, except EventNotification and
// EventRequest.
func Frames(rec journal.Record) ([]Frame, error) {
	d := derivation{rec: rec}
	native := rec.Type == EventNotification || rec.Type == EventRequest
	name, console := strings.CutPrefix(rec.Type, ConsoleEvents)
	if !native && strings.Contains(name, ".") {
		return nil, nil
	}
	var err error
	if d.meta, err = MetaOf(&rec.Event); err != nil {
		return nil, fmt.Errorf("meta of journal event %d (%s) is not readable: %w", rec.Pos, rec.Type, err)
	}
	if !native {
		d.add(name, rec.Payload, rec.Broadcast)
		d.frames[0].Console = console
		return d.frames, nil
	}
	var ok bool
	if d.line, ok = LineOf(&rec.Event, d.meta); !ok {
		return nil, fmt.Errorf(
			"payload of journal event %d (%s) is not a runtime's line, or its meta has no offset of the method",
			rec.Pos, rec.Type)
	}
	d.method, d.runtime = wire.Text(d.line.Method), runtimeOf(rec)
	d.about = wire.Lookup(d.method)
	if rec.Type == EventNotification {
		d.notification()
	} else {
		d.request()
	}
	return d.frames, nil
}

// Broadcasts reports whether a notification has an alias that goes to every reader. The writer of such a notification
// sets journal.Event.Broadcast, so that a filtered client also finds it when it catches up.
func Broadcasts(method string) bool { return wire.Lookup(method).Broadcast }

// derivation is the work of Frames on one record.
type derivation struct {
	rec    journal.Record
	meta   *Meta
	line   Line
	method string
	// runtime is Frame.Runtime.
	runtime string
	about   wire.Method
	frames  []Frame
}

// runtimeOf returns the runtime that sent a record's message. It is "" for wire.Origin and for old rows, in which our
// own messages named no runtime.
func runtimeOf(rec journal.Record) string {
	if rec.Source == wire.Origin || rec.Source == ownSource {
		return ""
	}
	return rec.Source
}

func (d *derivation) add(name string, payload json.RawMessage, broadcast bool) {
	d.frames = append(d.frames, Frame{
		Type: name, ThreadID: d.rec.SessionID, Payload: payload, Broadcast: broadcast, SystemOwned: d.meta.SystemOwned,
		Text:        d.meta.Text,
		Runtime:     d.runtime,
		Replaceable: d.rec.Type == EventNotification && d.about.Replaceable,
		Pos:         startOf(d.rec.Pos) + int64(len(d.frames)), Seq: d.rec.Seq,
	})
}

func (d *derivation) notification() {
	d.signal("notification", "app_server.")
	if d.about.Alias != "" {
		d.add(d.about.Alias, appendRaw(nil, d.line.Params, "null"), d.about.Broadcast)
		d.frames[len(d.frames)-1].Repeats = true
	}
	payload := appendMember([]byte{'{'}, "method")
	payload = append(payload, d.line.Method...)
	if params := d.line.Params; len(params) > 0 {
		payload = appendMember(payload, "params")
		payload = append(payload, params...)
	}
	d.add("notification", append(payload, '}'), false)
}

func (d *derivation) request() {
	d.signal("request", "app_server.request.")
	if d.meta.Request == nil {
		d.add("server_request", d.rec.Payload, false)
		return
	}
	name := "approval"
	switch d.meta.Request.Kind {
	case kindToolInput:
		name = "tool_user_input_requested"
	case kindToolCall:
		name = "tool_call_requested"
	}
	d.add(name, RequestPayload(*d.meta.Request, d.method, d.line.Params), false)
}

// signal adds the app_server envelope, except for system-owned and purged threads.
func (d *derivation) signal(signalType, prefix string) {
	if d.meta.SystemOwned || d.meta.Purged {
		return
	}
	eventType := prefix + signalName(d.method)
	receivedAt := d.meta.ReceivedAt
	if receivedAt == 0 {
		receivedAt = d.rec.Time
	}
	params := d.line.Params
	out := make([]byte, 0, len(params)+512)
	source := "app_server"
	if d.runtime != "" {
		source = d.runtime
	}
	out = append(out, `{"source":`...)
	out = appendString(out, source)
	out = appendMember(out, "signalType")
	out = appendString(out, signalType)
	out = appendMember(out, "eventType")
	out = appendString(out, eventType)
	out = appendMember(out, "method")
	out = append(out, d.line.Method...)
	out = appendMember(out, "receivedAt")
	out = appendTime(out, receivedAt)
	out = append(out, `,"context":{"threadId":`...)
	out = appendNullable(out, d.rec.SessionID)
	out = appendMember(out, "turnId")
	out = appendNullable(out, d.meta.TurnID)
	out = append(out, `},"params":`...)
	out = appendRaw(out, params, "null")
	out = appendMember(out, "session")
	out = appendSession(out, d.meta.Session)
	out = d.appendRequestID(out, signalType)
	if d.runtime != "" {
		out = appendMember(out, "runtime")
		out = appendString(out, d.runtime)
	}
	d.add(eventType, append(out, '}'), false)
	d.frames[len(d.frames)-1].Repeats = true
}

// appendRequestID appends our id of the signal's request, which answers use, and the runtime's own id.
func (d *derivation) appendRequestID(dst []byte, signalType string) []byte {
	ours, request := d.meta.RequestID, signalType == "request"
	switch {
	case ours != nil:
		dst = appendMember(dst, "requestId")
		dst = appendNullable(dst, *ours)
		if request {
			dst = appendMember(dst, "nativeRequestId")
			dst = appendRaw(dst, d.line.ID, "null")
		}
	case request:
		dst = appendMember(dst, "requestId")
		dst = appendRaw(dst, d.line.ID, "null")
	}
	return dst
}

func appendSession(dst []byte, ref *SessionRef) []byte {
	if ref == nil {
		return append(dst, "null"...)
	}
	dst = append(dst, `{"id":`...)
	dst = appendString(dst, ref.ID)
	dst = appendMember(dst, "title")
	if ref.Title == "" {
		dst = append(dst, "null"...) // a thread has no name yet at its first signals
	} else {
		dst = appendString(dst, ref.Title)
	}
	dst = appendMember(dst, "projectId")
	if ref.ProjectID == nil {
		dst = append(dst, "null"...)
	} else {
		dst = appendString(dst, *ref.ProjectID)
	}
	return append(dst, '}')
}
