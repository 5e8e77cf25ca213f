package transcript

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/database"
)

// Store keeps the transcripts of sessions: one row per message, each in its place (place.go). It is all that readers are shown. There is no cap;
// neither the cost of an upsert nor that of a window depends on how much is stored.
type Store struct{}

const entryColumns = `message_id, turn_id, role, type, content, details, status, started_at, completed_at`

// Upsert stores an entry by the rules of Merge and returns what is stored now. changed is false when nothing had to be written.
func (Store) Upsert(ctx context.Context, tx database.Tx, sessionID string, entry Entry) (merged Entry, changed bool, err error) {
	return upsert(ctx, tx, sessionID, entry, false)
}

// UpsertItem is Upsert of an item of the runtime: what its turns consist of, in the order they tell of it.
func (Store) UpsertItem(ctx context.Context, tx database.Tx, sessionID string, entry Entry) (merged Entry, changed bool, err error) {
	return upsert(ctx, tx, sessionID, entry, true)
}

func upsert(ctx context.Context, tx database.Tx, sessionID string, entry Entry, item bool) (merged Entry, changed bool, err error) {
	k := key{database.EncodeText(sessionID), database.EncodeText(entry.MessageID)}
	old, err := scanEntry(tx.QueryRowContext(ctx,
		`select `+entryColumns+` from transcript_entries where session_id = $1 and message_id = $2`, k.session, k.message))
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
	_, err = tx.ExecContext(ctx, `update transcript_entries
		set turn_id = $3, role = $4, type = $5, content = $6, details = $7, status = $8, started_at = $9, completed_at = $10
		where session_id = $1 and message_id = $2`, values(k.session, merged)...)
	if err != nil {
		return Entry{}, false, fmt.Errorf("update transcript entry %q of session %s: %w", entry.MessageID, sessionID, err)
	}
	if moves(old, merged) {
		err = newPlacer(tx).move(ctx, k, &merged, item)
	}
	return merged, true, err
}

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
		(session_id, message_id, turn_id, role, type, content, details, status, started_at, completed_at, ordinal, place)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`, append(values(k.session, entry), last+1, place)...)
	if err != nil {
		return Entry{}, false, fmt.Errorf("insert transcript entry %q: %w", entry.MessageID, err)
	}
	return entry, true, nil
}

// Last is the number of a session's newest entry, 0 when it has none: it grows with every new entry.
func (Store) Last(ctx context.Context, q database.Querier, sessionID string) (int64, error) {
	last, err := lastOrdinal(ctx, q, database.EncodeText(sessionID))
	if err != nil {
		return 0, fmt.Errorf("read the length of the transcript of session %s: %w", sessionID, err)
	}
	return last, nil
}

func lastOrdinal(ctx context.Context, q database.Querier, session string) (last int64, err error) {
	err = q.QueryRowContext(ctx, `select ordinal from transcript_entries where session_id = $1 order by ordinal desc limit 1`, session).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return last, err
}

// List returns a session's entries in reading order, without those of turns that were taken back.
func (Store) List(ctx context.Context, q database.Querier, sessionID string) ([]Entry, error) {
	session := database.EncodeText(sessionID)
	kept, err := keptOf(ctx, q, session)
	if err != nil {
		return nil, err
	}
	rows, err := q.QueryContext(ctx, `select `+entryColumns+` from transcript_entries where session_id = $1 and place >= 0`+kept+` order by place, ordinal`, session)
	if err != nil {
		return nil, fmt.Errorf("read transcript of session %s: %w", sessionID, err)
	}
	defer rows.Close()
	var entries []Entry
	for rows.Next() {
		entry, err := scanEntry(rows)
		if err != nil {
			return nil, fmt.Errorf("read transcript of session %s: %w", sessionID, err)
		}
		entries = append(entries, entry)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read transcript of session %s: %w", sessionID, err)
	}
	return entries, nil
}

// Delete removes every entry of a session.
func (Store) Delete(ctx context.Context, tx database.Tx, sessionID string) error {
	for _, table := range []string{"transcript_entries", "transcript_turns", "rolled_back_turns"} {
		if _, err := tx.ExecContext(ctx, `delete from `+table+` where session_id = $1`, database.EncodeText(sessionID)); err != nil {
			return fmt.Errorf("delete transcript of session %s: %w", sessionID, err)
		}
	}
	return nil
}

type scanner interface{ Scan(dest ...any) error }

func scanEntry(row scanner) (Entry, error) {
	var (
		entry              Entry
		details            sql.NullString
		started, completed sql.NullInt64
	)
	if err := row.Scan(&entry.MessageID, &entry.TurnID, &entry.Role, &entry.Type, &entry.Content, &details, &entry.Status,
		&started, &completed); err != nil {
		return Entry{}, err
	}
	for _, text := range []*string{&entry.MessageID, &entry.TurnID, &entry.Role, &entry.Type, &entry.Content} {
		*text = database.DecodeText(*text)
	}
	if details.Valid {
		text := database.DecodeText(details.String)
		entry.Details = &text
	}
	if started.Valid {
		entry.StartedAt = &started.Int64
	}
	if completed.Valid {
		entry.CompletedAt = &completed.Int64
	}
	return entry, nil
}

func values(session string, entry Entry) []any {
	var details sql.NullString
	if entry.Details != nil {
		details = sql.NullString{String: database.EncodeText(*entry.Details), Valid: true}
	}
	return []any{session, database.EncodeText(entry.MessageID), database.EncodeText(entry.TurnID), database.EncodeText(entry.Role),
		database.EncodeText(entry.Type), database.EncodeText(entry.Content), details, string(entry.Status),
		nullable(entry.StartedAt), nullable(entry.CompletedAt)}
}

func nullable(value *int64) sql.NullInt64 {
	if value == nil {
		return sql.NullInt64{}
	}
	return sql.NullInt64{Int64: *value, Valid: true}
}
