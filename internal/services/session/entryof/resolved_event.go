package entryof

import (
	"bytes"

	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// Resolved returns the event for a resolved interactive request.
func Resolved(r session.Request, systemOwned bool, actor string) journal.Event {
	payload := ResolutionPayload(r)
	if r.Status == session.RequestResolved && r.DecidedBy != "" {
		payload = append(append(bytes.Clone(payload[:len(payload)-1]), `,"decidedBy":`...), append(javascript.MustEncode(r.DecidedBy), '}')...)
	}
	event := session.NewEvent(r.SessionID, ResolutionEvent(r.Kind), r.SettledAt, systemOwned, payload)
	event.TurnID, event.ItemID, event.Actor = r.TurnID, r.ItemID, actor
	return event
}
