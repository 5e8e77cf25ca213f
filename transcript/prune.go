package transcript

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// DeleteTurn deletes the stored data of a turn and returns the ids of its entries. The other entries keep their
// places.
func (Store) DeleteTurn(ctx context.Context, tx database.Tx, sessionID, turnID string) ([]string, error) {
	session, turn := database.EncodeText(sessionID), database.EncodeText(turnID)
	// Delete by place, so that the cost does not depend on the length of the transcript: the turn's block, then hidden
	// entries, then entries stored before places existed.
	what := "delete turn " + turnID + " of session " + sessionID
	ids, err := database.ReadTexts(ctx, tx, what, `delete from transcript_entries where session_id = $1 and turn_id = $2
		and place >= (select block from transcript_turns where session_id = $1 and turn_id = $2) * `+blockSize+`
		and place < (select block + 1 from transcript_turns where session_id = $1 and turn_id = $2) * `+blockSize+`
		returning message_id`, session, turn)
	if err == nil {
		var unplaced []string
		unplaced, err = database.ReadTexts(ctx, tx, what,
			`delete from transcript_entries where session_id = $1 and turn_id = $2 and place < `+blockSize+`
			returning message_id`, session, turn)
		ids = append(ids, unplaced...)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `delete from transcript_turns where session_id = $1 and turn_id = $2`, session, turn)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `delete from rolled_back_turns where session_id = $1 and turn_id = $2`, session, turn)
	}
	if err == nil {
		err = sweepParts(ctx, tx, session)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return ids, nil
}

// blockSize is the number of places in a block, as SQL.
var blockSize = fmt.Sprint(int64(1) << blockShift)

// pruneWithin is the number of a session's oldest entries that DeleteOlder reads.
const pruneWithin = 1000

// DeleteOlder deletes up to limit of a session's oldest entries outside the runtime's turns. It deletes only entries
// last written before a time (ms). It returns the number of deleted entries.
func (Store) DeleteOlder(ctx context.Context, tx database.Tx, sessionID string, before int64, limit int) (
	int64, error) {
	session := database.EncodeText(sessionID)
	result, err := tx.ExecContext(ctx, `delete from transcript_entries where session_id = $1 and message_id in (`+
		olderEntries+` limit $3)`, session, before, limit)
	if err != nil {
		return 0, fmt.Errorf("delete old entries of session %s: %w", sessionID, err)
	}
	gone, err := result.RowsAffected()
	if err != nil || gone == 0 {
		return 0, err
	}
	_, err = tx.ExecContext(ctx,
		`delete from transcript_turns where session_id = $1 and block >= $2 and not exists (select 1
		from transcript_entries e where e.session_id = $1 and e.place >= transcript_turns.block * `+blockSize+`
		and e.place < (transcript_turns.block + 1) * `+blockSize+`)`, session, firstAppendix)
	if err != nil {
		return 0, fmt.Errorf("delete old turns of session %s: %w", sessionID, err)
	}
	return gone, sweepParts(ctx, tx, session)
}

// HasOlder reports whether DeleteOlder would delete entries.
func (Store) HasOlder(ctx context.Context, q database.Querier, sessionID string, before int64) (bool, error) {
	found, err := database.ReadTexts(ctx, q, "look for old entries of session "+sessionID, olderEntries+` limit 1`,
		database.EncodeText(sessionID), before)
	return len(found) > 0, err
}

// olderEntries selects ids of a session's ($1) entries outside the runtime's turns. It selects those last written
// before a time ($2).
var olderEntries = fmt.Sprintf(
	`select message_id from (select message_id, coalesce(completed_at, started_at) as at from transcript_entries
	where session_id = $1 and place >= %d order by place limit %d) as oldest where at < $2`, firstAppendix<<blockShift,
	pruneWithin)

// DeleteOldest deletes up to limit of a session's entries, in reading order. It returns the number of deleted entries.
func (Store) DeleteOldest(ctx context.Context, tx database.Tx, sessionID string, limit int) (int64, error) {
	session := database.EncodeText(sessionID)
	result, err := tx.ExecContext(ctx, `delete from transcript_entries where session_id = $1 and message_id in (
		select message_id from transcript_entries where session_id = $1 order by place, ordinal limit $2)`, session, limit)
	if err != nil {
		return 0, fmt.Errorf("delete the oldest entries of session %s: %w", sessionID, err)
	}
	if err := sweepParts(ctx, tx, session); err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
