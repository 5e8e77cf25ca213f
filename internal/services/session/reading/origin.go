package reading

import (
	"context"
	"encoding/json"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// Origin returns the message that began a turn, and the decision that allowed its change of a path, if exactly one names
// the path. Errors are *DeletedError and ErrNotFound.
func (r *Reader) Origin(ctx context.Context, sessionID, turnID, path string) (origin session.Origin, err error) {
	entries, err := r.TurnEntries(ctx, sessionID, turnID)
	if err != nil {
		return origin, err
	}
	items := map[string]string{} // what the items of the turn say, by id
	for _, entry := range entries {
		if entry.Type == wire.ItemUserMessage && origin.Prompt == "" {
			origin.Prompt = entry.Content
		}
		items[entry.MessageID] = entry.Content
		if entry.Details != nil {
			items[entry.MessageID] += *entry.Details
		}
	}
	decided, err := store.QueryRequests(ctx, r.db.Read(),
		`where session_id = $1 and turn_id = $2 and status = 'resolved' order by created_at, id`,
		database.EncodeText(sessionID), database.EncodeText(turnID))
	if err != nil {
		return origin, err
	}
	quoted, err := json.Marshal(path)
	if err != nil {
		return origin, err
	}
	var allowed []store.Request
	for _, request := range decided {
		if request.Reply == nil || request.Reply.Decision != "accept" {
			continue
		}
		if said := string(request.Params) + items[request.ItemID]; strings.Contains(said, strings.Trim(string(quoted), `"`)) {
			allowed = append(allowed, request)
		}
	}
	if len(allowed) == 1 {
		origin.RequestID = allowed[0].ID
		origin.DecidedBy, err = store.Decider(ctx, r.db.Read(), allowed[0])
	}
	return origin, err
}
