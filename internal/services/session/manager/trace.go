package manager

import (
	"context"

	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// tracer knows in which trace a turn runs.
type tracer struct {
	index   *live.Index
	journal *journal.Journal
}

// traceOfRequest is the trace of who asks, zero for none.
func (t *tracer) traceOfRequest(ctx context.Context) session.Trace {
	of := make([]journal.Event, 1)
	t.journal.Attribute(ctx, of)
	return session.Trace{TraceID: of[0].TraceID, SpanID: of[0].SpanID}
}

// sends notes the trace in which a message is sent to a session: that of the turn it begins.
func (t *tracer) sends(ctx context.Context, sessionID string) {
	of := t.traceOfRequest(ctx)
	t.index.Update(sessionID, func(t *live.Session) { t.SendingTrace = of })
}

// inTracesOf gives events of turns that are not in view, as those of a server that died, the traces of these.
func inTracesOf(turns []store.Turn, events []journal.Event) {
	for i := range events {
		for _, turn := range turns {
			if events[i].TurnID == turn.TurnID && events[i].SessionID == turn.SessionID && events[i].TraceID == "" {
				of := session.ParseTrace(turn.TurnID, turn.Trace)
				events[i].TraceID, events[i].SpanID = of.TraceID, of.SpanID
			}
		}
	}
}

// TraceOf is the W3C trace of a turn that ran last in its session, "" for none: all that happens in it belongs to that.
func (t *tracer) TraceOf(sessionID, turnID string) (traceID, spanID string) {
	return t.index.TraceOf(sessionID, turnID)
}

// storedTraceOf is the trace of a turn as it is stored.
func (t *tracer) storedTraceOf(sessionID, turnID string) string {
	traceID, spanID := t.TraceOf(sessionID, turnID)
	return session.Trace{TurnID: turnID, TraceID: traceID, SpanID: spanID}.String()
}
