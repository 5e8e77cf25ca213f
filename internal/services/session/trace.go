package session

import (
	"strings"
)

// Trace is the W3C trace of a turn, zero for none. TurnID is "" while the turn's message is being sent.
type Trace struct{ TurnID, TraceID, SpanID string }

// String returns the stored form of a trace.
func (t Trace) String() string {
	if t.TraceID == "" {
		return ""
	}
	return t.TraceID + "-" + t.SpanID
}

// ParseTrace parses the output of Trace.String.
func ParseTrace(turnID, text string) Trace {
	traceID, spanID, _ := strings.Cut(text, "-")
	return Trace{turnID, traceID, spanID}
}
