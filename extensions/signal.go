package extensions

import (
	"bytes"
	"context"
	"maps"
	"sync"
	"sync/atomic"

	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/runtime/wire"
	"harness/stream"
)

// names remembers the event name of every method seen, so that a signal nobody waits for costs a look-up.
type names struct {
	mu    sync.Mutex
	known atomic.Pointer[map[nameKey]string]
}

type nameKey struct {
	request bool
	method  string
}

// maxNames bounds the memory a runtime can take with invented methods; beyond, names are made anew each time.
const maxNames = 1024

func (n *names) of(request bool, method []byte) string {
	if known := n.known.Load(); known != nil {
		if name, ok := (*known)[nameKey{request, string(method)}]; ok {
			return name
		}
	}
	prefix := "app_server."
	if request {
		prefix = "app_server.request."
	}
	name := prefix + stream.SignalName(string(method))
	n.mu.Lock()
	defer n.mu.Unlock()
	next := map[nameKey]string{}
	if known := n.known.Load(); known != nil {
		if len(*known) >= maxNames {
			return name
		}
		next = maps.Clone(*known)
	}
	next[nameKey{request, string(method)}] = name
	n.known.Store(&next)
	return name
}

// read is a record of a runtime's line: its meta, its parts, and the method without its quotes, none of a line that
// nobody can show.
func read(rec *journal.Record) (meta *stream.Meta, line stream.Line, method []byte, err error) {
	if meta, err = stream.MetaOf(&rec.Event); err != nil {
		return nil, line, nil, err
	}
	line, ok := stream.LineOf(&rec.Event, meta)
	if !ok {
		return meta, line, nil, nil // the stream says so
	}
	method = line.Method[1 : len(line.Method)-1]
	if bytes.IndexByte(method, '\\') >= 0 {
		method = []byte(wire.Text(line.Method))
	}
	return meta, line, method, nil
}

// interesting tells whether anybody may want to know of a record. It allocates nothing for a signal without a
// subscriber.
func (d *Dispatcher) interesting(rec *journal.Record) bool {
	if _, taken := d.takenHere(rec); taken {
		return true
	}
	request := rec.Type == stream.EventRequest
	if !request && rec.Type != stream.EventNotification {
		return false
	}
	_, _, method, err := read(rec)
	if err != nil {
		d.opts.Logger.Error().Err(err).Int64("pos", rec.Pos).
			Msg("a journal event has no readable meta and is not told to extensions")
	}
	if len(method) == 0 {
		return false
	}
	if d.opts.Registry.Subscribed(d.names.of(request, method)) {
		return true
	}
	return (request && string(method) == wire.MethodApproveFileChange) ||
		(!request && string(method) == wire.MethodTurnCompleted)
}

// handle dispatches one record: the signal as it is, then what is synthesised from it. Purged and system-owned threads
// make no events; stream.Frames knows, because the moment of the event decided it.
func (d *Dispatcher) handle(ctx context.Context, rec *journal.Record) {
	if from, taken := d.takenHere(rec); taken {
		d.inherit(ctx, rec, from)
		return
	}
	meta, _, method, err := read(rec)
	if err != nil || len(method) == 0 {
		return // interesting said so
	}
	if meta.SystemOwned || meta.Purged || d.others(ctx, rec.SessionID, meta.Node) {
		return
	}
	if rec.Pos > d.liveAfter {
		d.signal(ctx, rec, meta, d.names.of(rec.Type == stream.EventRequest, method))
	}
	d.synthesise(ctx, rec)
}

// synthesise dispatches what follows from a record.
func (d *Dispatcher) synthesise(ctx context.Context, rec *journal.Record) {
	meta, line, method, err := read(rec)
	if err != nil || meta.SystemOwned || meta.Purged {
		return
	}
	request := rec.Type == stream.EventRequest
	switch {
	case request && string(method) == wire.MethodApproveFileChange && meta.Request != nil:
		d.fileChangeRequested(ctx, rec, *meta.Request, line.Params)
	case !request && string(method) == wire.MethodTurnCompleted:
		d.turnCompleted(ctx, rec, meta)
	}
}

// others tells whether another node tells of a record: the owner of its session, for one of none the node whose runtime
// said it. What nobody is known to tell is told: twice rather than not at all.
func (d *Dispatcher) others(ctx context.Context, sessionID, node string) bool {
	if d.opts.Owns == nil {
		return false
	}
	if sessionID == "" {
		return node != "" && node != d.opts.NodeID
	}
	owns, err := d.opts.Owns(ctx, sessionID)
	if err != nil {
		d.opts.Logger.Warn().Err(err).Str("session", sessionID).
			Msg("it is not known which node tells extensions of a session; this one does, and its owner may, too")
		return false
	}
	return !owns
}

// signal emits the app_server event of a record.
func (d *Dispatcher) signal(ctx context.Context, rec *journal.Record, meta *stream.Meta, name string) {
	if !d.opts.Registry.Subscribed(name) {
		return
	}
	frames, err := stream.Frames(*rec)
	if err != nil {
		d.opts.Logger.Error().Err(err).Msg("a runtime signal is not told to extensions")
		return
	}
	for i := range frames {
		if frames[i].Type != name {
			continue
		}
		at := meta.ReceivedAt
		if at == 0 {
			at = rec.Time
		}
		scope := Scope{SessionID: rec.SessionID, TurnID: meta.TurnID}
		if meta.Session != nil && meta.Session.ProjectID != nil {
			scope.ProjectID = *meta.Session.ProjectID
		}
		d.opts.Registry.Emit(ctx, &Event{Type: name, EmittedAt: javascript.ISOTime(at), Payload: frames[i].Payload}, scope)
		return
	}
}
