package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

// Find reads one stored entry; it returns false if no entry has that id.
func (Store) Find(ctx context.Context, q database.Querier, sessionID, messageID string) (Entry, bool, error) {
	return find(ctx, q, sessionID, `message_id = $2`, database.EncodeText(messageID))
}

// First reads the first entry of a session, ignoring turns that were rolled back; it returns false if there is none.
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

// ContentOf returns the content of an entry from its columns content and CheckedEntry. A damaged entry's content says
// that it is damaged.
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
