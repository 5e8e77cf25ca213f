package entryof

import (
	"bytes"

	"harness/internal/lib/javascript"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// Resolved is the event of a resolved interactive request.
func Resolved(r session.Request, systemOwned bool, actor string) journal.Event {
	published := ResolutionPayload(r)
	if r.Status == session.RequestResolved && r.DecidedBy != "" {
		published = append(append(bytes.Clone(published[:len(published)-1]), `,"decidedBy":`...), append(javascript.MustEncode(r.DecidedBy), '}')...)
	}
	event := session.NewEvent(r.SessionID, ResolutionEvent(r.Kind), r.SettledAt, systemOwned, published)
	event.TurnID, event.ItemID, event.Actor = r.TurnID, r.ItemID, actor
	return event
}
