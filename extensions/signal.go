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

// names caches the event name of every known method, so that a signal without a subscriber costs one lookup.
type names struct {
	mu    sync.Mutex
	known atomic.Pointer[map[nameKey]string]
}

type nameKey struct {
	request bool
	method  string
}

// maxNames limits the cache in case a runtime invents methods; beyond it, names are derived each time.
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

// read returns the parts of a runtime's line: its meta, its parts, and the method without its quotes. An invalid line
// has none.
func read(rec *journal.Record) (meta *stream.Meta, line stream.Line, method []byte, err error) {
	if meta, err = stream.MetaOf(&rec.Event); err != nil {
		return nil, line, nil, err
	}
	line, ok := stream.LineOf(&rec.Event, meta)
	if !ok {
		return meta, line, nil, nil // the stream logs it
	}
	method = line.Method[1 : len(line.Method)-1]
	if bytes.IndexByte(method, '\\') >= 0 {
		method = []byte(wire.Text(line.Method))
	}
	return meta, line, method, nil
}

// interesting reports whether a record may have a subscriber. It allocates nothing for a signal without one.
func (d *Dispatcher) interesting(rec *journal.Record) bool {
	if _, taken := d.takenOverHere(rec); taken {
		return true
	}
	request := rec.Type == stream.EventRequest
	if !request && rec.Type != stream.EventNotification {
		return false
	}
	_, _, method, err := read(rec)
	if err != nil {
		d.opts.Logger.Error().Err(err).Int64("pos", rec.Pos).
			Msg("cannot read the meta of a journal event; extensions do not get it")
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

// handle dispatches one record: the signal itself, then the synthesised events. Purged and system-owned threads produce
// no events; stream.Frames knows them, because that is decided when the event is stored.
func (d *Dispatcher) handle(ctx context.Context, rec *journal.Record) {
	if from, taken := d.takenOverHere(rec); taken {
		d.inherit(ctx, rec, from)
		return
	}
	meta, _, method, err := read(rec)
	if err != nil || len(method) == 0 {
		return // interesting has checked it
	}
	if meta.SystemOwned || meta.Purged || d.dispatchedElsewhere(ctx, rec.SessionID, meta.Node) {
		return
	}
	if rec.Pos > d.liveAfter {
		d.signal(ctx, rec, meta, d.names.of(rec.Type == stream.EventRequest, method))
	}
	d.synthesise(ctx, rec)
}

// synthesise dispatches the events that a record implies.
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

// dispatchedElsewhere reports whether another node dispatches a record: the owner of its session or, without a session,
// the node of its runtime. If the owner is unknown, this node dispatches: twice is better than never.
func (d *Dispatcher) dispatchedElsewhere(ctx context.Context, sessionID, node string) bool {
	if d.opts.Owns == nil {
		return false
	}
	if sessionID == "" {
		return node != "" && node != d.opts.NodeID
	}
	owns, err := d.opts.Owns(ctx, sessionID)
	if err != nil {
		d.opts.Logger.Warn().Err(err).Str("session", sessionID).
			Msg("the owner of a session is unknown; extensions may get its events from this node and from the owner")
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
		d.opts.Logger.Error().Err(err).Msg("extensions do not get a runtime signal")
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
