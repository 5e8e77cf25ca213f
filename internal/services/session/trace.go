package session

import (
	"strings"
)

// Trace is the W3C trace that a turn belongs to; zero for none. A turn has no id while its message is on its way.
type Trace struct{ TurnID, TraceID, SpanID string }

// String is the stored form of a trace.
func (t Trace) String() string {
	if t.TraceID == "" {
		return ""
	}
	return t.TraceID + "-" + t.SpanID
}

// ParseTrace reads what Trace.String wrote.
func ParseTrace(turnID, text string) Trace {
	traceID, spanID, _ := strings.Cut(text, "-")
	return Trace{turnID, traceID, spanID}
}
