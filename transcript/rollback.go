package transcript

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// RollBack removes turns from a session's transcript at a time (ms). Their entries stay stored, and so do later ones,
// but reads skip them.
func (Store) RollBack(ctx context.Context, tx database.Tx, sessionID string, turnIDs []string, at int64) error {
	for _, turnID := range turnIDs {
		_, err := tx.ExecContext(ctx,
			`insert into rolled_back_turns (session_id, turn_id, rolled_back_at) values ($1, $2, $3) on conflict do nothing`,
			database.EncodeText(sessionID), database.EncodeText(turnID), at)
		if err != nil {
			return fmt.Errorf("take turn %s out of session %s: %w", turnID, sessionID, err)
		}
	}
	return nil
}

// BringBack puts turns that were taken out of a session's transcript back.
func (Store) BringBack(ctx context.Context, tx database.Tx, sessionID string, turnIDs []string) error {
	for _, turnID := range turnIDs {
		_, err := tx.ExecContext(ctx, `delete from rolled_back_turns where session_id = $1 and turn_id = $2`,
			database.EncodeText(sessionID), database.EncodeText(turnID))
		if err != nil {
			return fmt.Errorf("put turn %s back into session %s: %w", turnID, sessionID, err)
		}
	}
	return nil
}

// RolledBack returns the rolled-back turns of a session.
func (Store) RolledBack(ctx context.Context, q database.Querier, sessionID string) (map[string]bool, error) {
	turns, err := database.ReadTexts(ctx, q, "read what was taken out of session "+sessionID,
		`select turn_id from rolled_back_turns where session_id = $1`, database.EncodeText(sessionID))
	if err != nil {
		return nil, err
	}
	gone := make(map[string]bool, len(turns))
	for _, turn := range turns {
		gone[turn] = true
	}
	return gone, nil
}

// TurnsSince lists the turns of a session's entries, in reading order, from the first of the given turns on. It
// returns none if none of those turns has an entry.
func (Store) TurnsSince(ctx context.Context, q database.Querier, sessionID string, turnIDs []string) ([]string, error) {
	inOrder, err := database.ReadTexts(ctx, q, "read the turns of session "+sessionID,
		`select turn_id from transcript_entries where session_id = $1 and place >= 0 group by turn_id order by min(place)`,
		database.EncodeText(sessionID))
	if err != nil {
		return nil, err
	}
	first := make(map[string]bool, len(turnIDs))
	for _, turn := range turnIDs {
		first[turn] = true
	}
	for i, turn := range inOrder {
		if first[turn] {
			return inOrder[i:], nil
		}
	}
	return nil, nil
}

// keptTurns is the end of a query for the entries of a session ($1) with rolled-back turns. Queries of other sessions
// omit it, and save its cost.
const keptTurns = ` and transcript_entries.turn_id not in (select turn_id from rolled_back_turns where session_id = $1)`

// keptOf returns keptTurns, or "" if nothing was rolled back.
func keptOf(ctx context.Context, q database.Querier, session string) (string, error) {
	found, err := database.ReadTexts(ctx, q, "read what was taken out of session "+session,
		`select turn_id from rolled_back_turns where session_id = $1 limit 1`, session)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return keptTurns, nil
}
