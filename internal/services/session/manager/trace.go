package manager

import (
	"context"

	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
)

// Tracer finds the trace of a turn.
type Tracer struct {
	index   *live.Index
	journal *journal.Journal
}

// traceOfRequest returns the caller's trace, zero for none.
func (t *Tracer) traceOfRequest(ctx context.Context) session.Trace {
	of := make([]journal.Event, 1)
	t.journal.Attribute(ctx, of)
	return session.Trace{TraceID: of[0].TraceID, SpanID: of[0].SpanID}
}

// sends records the trace of a message to a session. The turn that the message starts inherits it.
func (t *Tracer) sends(ctx context.Context, sessionID string) {
	of := t.traceOfRequest(ctx)
	t.index.Update(sessionID, func(t *live.Session) { t.SendingTrace = of })
}

// inTracesOf sets the traces of events whose turns are not in the view, such as those of a dead server.
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

// TraceOf returns the W3C trace of the turn that ran last in its session, "" for none.
func (t *Tracer) TraceOf(sessionID, turnID string) (traceID, spanID string) {
	return t.index.TraceOf(sessionID, turnID)
}

// storedTraceOf returns the trace of a turn from the store.
func (t *Tracer) storedTraceOf(sessionID, turnID string) string {
	traceID, spanID := t.TraceOf(sessionID, turnID)
	return session.Trace{TurnID: turnID, TraceID: traceID, SpanID: spanID}.String()
}
