package transcript

import (
	"context"

	"harness/internal/platform/database"
)

// ListTurn returns the entries of one turn in reading order, none if the turn was rolled back. Its cost does not
// depend on the number of turns in the session.
func (Store) ListTurn(ctx context.Context, q database.Querier, sessionID, turnID string) ([]Entry, error) {
	scan := func(row database.Row) (Entry, error) { return scanEntry(ctx, row) }
	var entries []Entry
	for _, part := range stretchesOfTurn() {
		found, err := database.ReadAll(ctx, q, "read turn "+turnID+" of the transcript of session "+sessionID, scan,
			`select `+entryColumns+` from transcript_entries `+ofTurn+part+` order by place, ordinal`,
			database.EncodeText(sessionID), database.EncodeText(turnID))
		if err != nil {
			return nil, err
		}
		entries = append(entries, found...)
	}
	return entries, nil
}

// ofTurn starts a query for the entries of a turn ($2) that was not rolled back; a range follows.
const ofTurn = `where session_id = $1 and turn_id = $2
	and not exists (select 1 from rolled_back_turns where session_id = $1 and turn_id = $2) and `

// stretchesOfTurn returns the ranges of places that may contain a turn's entries, because no index contains turns.
// First come entries stored before places existed, then the turn's block.
func stretchesOfTurn() []string {
	return []string{
		`place >= 0 and place < ` + blockSize,
		`place >= (select block from transcript_turns where session_id = $1 and turn_id = $2) * ` + blockSize + `
			and place < (select block + 1 from transcript_turns where session_id = $1 and turn_id = $2) * ` + blockSize,
	}
}
