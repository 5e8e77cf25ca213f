package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

// Find reads one stored entry; false when there is none of that id.
func (Store) Find(ctx context.Context, q database.Querier, sessionID, messageID string) (Entry, bool, error) {
	return find(ctx, q, sessionID, `message_id = $2`, database.EncodeText(messageID))
}

// First reads the entry a session begins with, of turns that were not rolled back; false when it has none.
func (Store) First(ctx context.Context, q database.Querier, sessionID string) (Entry, bool, error) {
	return find(ctx, q, sessionID, `place >= $2`+keptTurns+` order by place, ordinal limit 1`, 0)
}

func find(ctx context.Context, q database.Querier, sessionID, which string, arg any) (Entry, bool, error) {
	entry, err := scanEntry(ctx,
		q.QueryRowContext(ctx, `select `+entryColumns+` from transcript_entries where session_id = $1 and `+which,
			database.EncodeText(sessionID), arg))
	if errors.Is(err, sql.ErrNoRows) {
		return Entry{}, false, nil
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("read a transcript entry of session %s: %w", sessionID, err)
	}
	return entry, true, nil
}

// ContentOf is the content of an entry from its column content and CheckedEntry. One that is damaged says so.
func ContentOf(content string, checked sql.NullString) string {
	if !checked.Valid {
		return database.DecodeText(content)
	}
	entry, err := openChecked(checked.String)
	if err != nil {
		return damagedText
	}
	return entry.Content
}
