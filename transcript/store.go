package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
)

// Store stores the transcripts of sessions: one row per message, each with a place (place.go). Readers see nothing
// else. There is no size limit: the cost of an upsert or a window does not depend on the amount stored.
type Store struct{}

// Upsert stores an entry by the rules of Merge and returns the stored result. changed is false if nothing had to be
// written.
func (Store) Upsert(ctx context.Context, tx database.Tx, sessionID string, entry Entry) (merged Entry, changed bool,
	err error) {
	return upsert(ctx, tx, sessionID, entry, false)
}

// UpsertItem is Upsert for an item of the runtime; items keep the order in which the runtime reported them.
func (Store) UpsertItem(ctx context.Context, tx database.Tx, sessionID string, entry Entry) (merged Entry, changed bool,
	err error) {
	return upsert(ctx, tx, sessionID, entry, true)
}

func upsert(ctx context.Context, tx database.Tx, sessionID string, entry Entry, item bool) (merged Entry, changed bool,
	err error) {
	k := key{database.EncodeText(sessionID), database.EncodeText(entry.MessageID)}
	if entry.Source != nil && synthetic(entry.MessageID) {
		entry = entry.Whole()
	}
	read := func(columns string) (Entry, error) {
		old, _, err := scanStored(ctx, // replace a damaged row
			tx.QueryRowContext(ctx, `select `+columns+` from transcript_entries where session_id = $1 and message_id = $2`,
				k.session, k.message))
		return old, err
	}
	old, err := read(shortColumns)
	inParts := errors.Is(err, errInParts)
	if inParts {
		var done bool
		if merged, done, err = upsertLong(ctx, tx, k, entry); err != nil || done {
			return merged, done, err
		}
		entry = entry.Whole()
		old, err = read(entryColumns)
	}
	if errors.Is(err, sql.ErrNoRows) {
		return insert(ctx, tx, k, settleTimes(entry), item)
	}
	if err != nil {
		return Entry{}, false, fmt.Errorf("read transcript entry %q of session %s: %w", entry.MessageID, sessionID, err)
	}
	merged = Merge(old, entry)
	if merged.Equal(old) {
		return merged, false, nil
	}
	_, err = tx.ExecContext(ctx, updateRow, values(k.session, &merged, 0)...)
	if err != nil {
		return Entry{}, false, fmt.Errorf("update transcript entry %q of session %s: %w", entry.MessageID, sessionID, err)
	}
	if inParts {
		err = database.DeleteParts(ctx, tx, partsOf(k))
	}
	if err == nil {
		err = storeParts(ctx, tx, k, &merged)
	}
	if err == nil && moves(old, merged) {
		err = newPlacer(tx).move(ctx, k, &merged, item)
	}
	return merged, true, err
}

// updateRow takes the arguments of values.
const updateRow = `update transcript_entries
	set turn_id = $3, role = $4, type = $5, status = $6, started_at = $7, completed_at = $8, encoded = $9, event_pos = $10,
		checksum = $11, content = '', details = null
	where session_id = $1 and message_id = $2`

// insert numbers the entry after the session's last one; the caller's transaction is the only writer (journal.Unit).
func insert(ctx context.Context, tx database.Tx, k key, entry Entry, item bool) (Entry, bool, error) {
	last, err := lastOrdinal(ctx, tx, k.session)
	if err != nil {
		return Entry{}, false, fmt.Errorf("number transcript entry %q: %w", entry.MessageID, err)
	}
	places := newPlacer(tx)
	place, err := places.place(ctx, k, &entry, last+1, item)
	if err == nil {
		err = places.flush(ctx)
	}
	if err != nil {
		return Entry{}, false, err
	}
	_, err = tx.ExecContext(ctx, `insert into transcript_entries
		(`+rowColumns+`, ordinal, place, content) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, '')`,
		append(values(k.session, &entry, 0), last+1, place)...)
	if err != nil {
		return Entry{}, false, fmt.Errorf("insert transcript entry %q: %w", entry.MessageID, err)
	}
	return entry, true, storeParts(ctx, tx, k, &entry)
}

// Last returns the number of a session's newest entry, 0 if it has none; every new entry gets a higher number.
func (Store) Last(ctx context.Context, q database.Querier, sessionID string) (int64, error) {
	last, err := lastOrdinal(ctx, q, database.EncodeText(sessionID))
	if err != nil {
		return 0, fmt.Errorf("read the length of the transcript of session %s: %w", sessionID, err)
	}
	return last, nil
}

func lastOrdinal(ctx context.Context, q database.Querier, session string) (last int64, err error) {
	err = q.QueryRowContext(ctx,
		`select ordinal from transcript_entries where session_id = $1 order by ordinal desc limit 1`, session).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return last, err
}

// Delete removes every entry of a session.
func (Store) Delete(ctx context.Context, tx database.Tx, sessionID string) error {
	for _, table := range []string{"transcript_entries", "transcript_turns", "rolled_back_turns"} {
		if _, err := tx.ExecContext(ctx, `delete from `+table+` where session_id = $1`,
			database.EncodeText(sessionID)); err != nil {
			return fmt.Errorf("delete transcript of session %s: %w", sessionID, err)
		}
	}
	return sweepParts(ctx, tx, database.EncodeText(sessionID))
}
