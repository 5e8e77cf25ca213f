package manager

import (
	"context"

	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/services/session"
)

// traceOfRequest is the trace of who asks, zero for none.
func (s *Service) traceOfRequest(ctx context.Context) session.Trace {
	of := make([]journal.Event, 1)
	s.journal.Attribute(ctx, of)
	return session.Trace{TraceID: of[0].TraceID, SpanID: of[0].SpanID}
}

// sends notes the trace in which a message is sent to a session: that of the turn it begins.
func (s *Service) sends(ctx context.Context, sessionID string) {
	of := s.traceOfRequest(ctx)
	s.view.change(sessionID, func(t *thread) { t.sending = of })
}

// inTracesOf gives events of turns that are not in view, as those of a server that died, the traces of these.
func inTracesOf(turns []turnRow, events []journal.Event) {
	for i := range events {
		for _, turn := range turns {
			if events[i].TurnID == turn.turnID && events[i].SessionID == turn.sessionID && events[i].TraceID == "" {
				of := session.ParseTrace(turn.turnID, turn.trace)
				events[i].TraceID, events[i].SpanID = of.TraceID, of.SpanID
			}
		}
	}
}

// inTrace is work in a trace that was stored, "" for none.
func inTrace(ctx context.Context, stored string) context.Context {
	of := session.ParseTrace("", stored)
	return telemetry.WithTrace(ctx, telemetry.Trace{TraceID: of.TraceID, SpanID: of.SpanID})
}

// traced gives a turn that begins the trace of the message that was sent.
func (t *thread) traced(turnID string) {
	if t.trace.TurnID != turnID {
		t.trace = session.Trace{TurnID: turnID, TraceID: t.sending.TraceID, SpanID: t.sending.SpanID}
	}
	t.sending = session.Trace{}
}

// TraceOf is the W3C trace of a turn that ran last in its session, "" for none: all that happens in it belongs to that.
func (s *Service) TraceOf(sessionID, turnID string) (traceID, spanID string) {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	if t := s.view.threads[sessionID]; t != nil && t.trace.TurnID == turnID {
		return t.trace.TraceID, t.trace.SpanID
	}
	return "", ""
}

// storedTraceOf is the trace of a turn as it is stored.
func (s *Service) storedTraceOf(sessionID, turnID string) string {
	traceID, spanID := s.TraceOf(sessionID, turnID)
	return session.Trace{TurnID: turnID, TraceID: traceID, SpanID: spanID}.String()
}
