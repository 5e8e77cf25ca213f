package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/database"
)

// Find reads one stored entry; false when there is none of that id.
func (Store) Find(ctx context.Context, q database.Querier, sessionID, messageID string) (Entry, bool, error) {
	entry, err := scanEntry(q.QueryRowContext(ctx, `select `+entryColumns+` from transcript_entries where session_id = $1 and message_id = $2`,
		database.EncodeText(sessionID), database.EncodeText(messageID)))
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("read transcript entry %q of session %s: %w", messageID, sessionID, err)
	}
	return entry, true, nil
}
