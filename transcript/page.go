package transcript

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// Page reads at most limit entries of a session after the first offset ones. The order is that of List, or reversed,
// newest first. It skips the others in an index, without reading them.
func (Store) Page(ctx context.Context, q database.Querier, sessionID string, offset, limit int, newestFirst bool) (
	[]Entry, error) {
	session := database.EncodeText(sessionID)
	kept, err := keptOf(ctx, q, session)
	if err != nil {
		return nil, err
	}
	order := `place, ordinal`
	if newestFirst {
		order = `place desc, ordinal desc`
	}
	return database.ReadAll(ctx, q, "read a page of the transcript of session "+sessionID,
		func(row database.Row) (Entry, error) { return scanEntry(ctx, row) },
		`select `+entryColumns+` from transcript_entries where session_id = $1 and place >= 0`+kept+` order by `+order+
			` limit $2 offset $3`, session, limit, offset)
}

// Count returns the number of entries that List returns. It reads only an index, unless turns were rolled back.
func (Store) Count(ctx context.Context, q database.Querier, sessionID string) (count int64, err error) {
	session := database.EncodeText(sessionID)
	kept, err := keptOf(ctx, q, session)
	if err != nil {
		return 0, err
	}
	err = q.QueryRowContext(ctx, `select count(*) from transcript_entries where session_id = $1 and place >= 0`+kept,
		session).Scan(&count)
	if err != nil {
		return 0, fmt.Errorf("count the entries of session %s: %w", sessionID, err)
	}
	return count, nil
}

// CountTurn returns the number of entries that ListTurn returns.
func (Store) CountTurn(ctx context.Context, q database.Querier, sessionID, turnID string) (count int64, err error) {
	for _, part := range stretchesOfTurn() {
		var found int64
		err := q.QueryRowContext(ctx, `select count(*) from transcript_entries `+ofTurn+part,
			database.EncodeText(sessionID), database.EncodeText(turnID)).Scan(&found)
		if err != nil {
			return 0, fmt.Errorf("count the entries of turn %s of session %s: %w", turnID, sessionID, err)
		}
		count += found
	}
	return count, nil
}
