package manager

import (
	"context"
	"strings"

	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
)

// trace is the W3C trace that a turn belongs to; zero for none. A turn has no id while its message is on its way.
type trace struct{ turnID, traceID, spanID string }

// stored is how a trace stands in the store.
func (t trace) stored() string {
	if t.traceID == "" {
		return ""
	}
	return t.traceID + "-" + t.spanID
}

func storedTrace(turnID, text string) trace {
	traceID, spanID, _ := strings.Cut(text, "-")
	return trace{turnID, traceID, spanID}
}

// traceOfRequest is the trace of who asks, zero for none.
func (s *Service) traceOfRequest(ctx context.Context) trace {
	of := make([]journal.Event, 1)
	s.journal.Attribute(ctx, of)
	return trace{traceID: of[0].TraceID, spanID: of[0].SpanID}
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
				of := storedTrace(turn.turnID, turn.trace)
				events[i].TraceID, events[i].SpanID = of.traceID, of.spanID
			}
		}
	}
}

// inTrace is work in a trace that was stored, "" for none.
func inTrace(ctx context.Context, stored string) context.Context {
	of := storedTrace("", stored)
	return telemetry.WithTrace(ctx, telemetry.Trace{TraceID: of.traceID, SpanID: of.spanID})
}

// traced gives a turn that begins the trace of the message that was sent.
func (t *thread) traced(turnID string) {
	if t.trace.turnID != turnID {
		t.trace = trace{turnID, t.sending.traceID, t.sending.spanID}
	}
	t.sending = trace{}
}

// TraceOf is the W3C trace of a turn that ran last in its session, "" for none: all that happens in it belongs to that.
func (s *Service) TraceOf(sessionID, turnID string) (traceID, spanID string) {
	s.view.mu.Lock()
	defer s.view.mu.Unlock()
	if t := s.view.threads[sessionID]; t != nil && t.trace.turnID == turnID {
		return t.trace.traceID, t.trace.spanID
	}
	return "", ""
}

// storedTraceOf is the trace of a turn as it is stored.
func (s *Service) storedTraceOf(sessionID, turnID string) string {
	traceID, spanID := s.TraceOf(sessionID, turnID)
	return trace{turnID, traceID, spanID}.stored()
}
