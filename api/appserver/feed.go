package appserver

import (
	"strings"

	"harness/api/door"
	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/runtime/jsonobject"
	"harness/internal/runtime/wire"
)

// event is one stored or early event of a session, translated once for all sockets.
type event struct {
	door.Event
	// message is the whole notification, with its params complete for clients.
	message []byte
	said    string // the text of a user's message
}

// show translates a record; false for one that clients do not get.
func show(record journal.Record) (event, bool) {
	read, ok := door.ReadEvent(&record)
	e := event{Event: read}
	if !ok || e.Method == "" || e.Asked != nil {
		return e, ok
	}
	if !passes(e.Method) {
		return e, false
	}
	if e.Method == wire.MethodItemStarted || e.Method == wire.MethodItemCompleted {
		params := jsonobject.Parse(e.Params)
		item, known := completeItem(params.Get("item"))
		if !known {
			return e, false
		}
		if read, _ := wire.ReadItem(item); read.Type == wire.ItemUserMessage {
			e.said = read.Content
		}
		e.Params = params.Set("item", item).Encode()
	}
	e.message = form.Request("", e.Method, e.Params)
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
	return form.Request("", e.Method, jsonobject.Parse(e.Params).Set("delta", javascript.MustEncode(e.Added(offset))).Encode())
}
