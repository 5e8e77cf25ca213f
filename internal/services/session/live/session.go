package live

import (
	"slices"

	"harness/internal/services/session"
)

// TurnSince returns a turn that started after an earlier copy of the session, "" for none.
func (t Session) TurnSince(before Session) string {
	known := func(turnID string) bool {
		return turnID == "" || turnID == before.ActiveTurn || slices.Contains(before.finished, turnID)
	}
	for _, turnID := range append(slices.Clone(t.finished), t.ActiveTurn) {
		if !known(turnID) {
			return turnID
		}
	}
	return ""
}

// traced gives a new turn the trace of the message that started it.
func (t *Session) traced(turnID string) {
	if t.Trace.TurnID != turnID {
		t.Trace = session.Trace{TurnID: turnID, TraceID: t.SendingTrace.TraceID, SpanID: t.SendingTrace.SpanID}
	}
	t.SendingTrace = session.Trace{}
}

// NotOwned is the epoch of a session that another node took over.
const NotOwned = -1
