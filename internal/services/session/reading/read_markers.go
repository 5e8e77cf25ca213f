package reading

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// MarkRead records that a reader has read a transcript up to an entry. It reports whether that is later than the
// previous marker. Errors are those of Lookup, and ErrNoEntry.
func (r *Reader) MarkRead(ctx context.Context, reader, sessionID, messageID string) (further bool, err error) {
	if _, err := r.sessions.Lookup(ctx, sessionID); err != nil {
		return false, err
	}
	id := database.EncodeText(sessionID)
	err = r.db.Update(ctx, func(tx database.Tx) error {
		var place, ordinal int64
		err := tx.QueryRowContext(ctx, `select place, ordinal from transcript_entries
			where session_id = $1 and message_id = $2 and place >= 0`, id, database.EncodeText(messageID)).Scan(&place, &ordinal)
		if errors.Is(err, sql.ErrNoRows) {
			return session.ErrNoEntry
		}
		if err != nil {
			return err
		}
		further, err = r.markRead(ctx, tx, marker{reader, id, database.EncodeText(messageID), place, ordinal},
			` where (excluded.place, excluded.ordinal) > (read_markers.place, read_markers.ordinal)`)
		return err
	})
	return further, store.MarkerError(sessionID, err)
}

// MarkUnread makes a session unread for a reader. Errors are those of Lookup.
func (r *Reader) MarkUnread(ctx context.Context, reader, sessionID string) error {
	if _, err := r.sessions.Lookup(ctx, sessionID); err != nil {
		return err
	}
	return store.MarkerError(sessionID, r.db.Update(ctx, func(tx database.Tx) error {
		_, err := r.markRead(ctx, tx, marker{reader, database.EncodeText(sessionID), "", -1, -1}, "")
		return err
	}))
}

// marker is the last read entry of a session for a reader; its ids are in their stored form.
type marker struct {
	reader, sessionID, messageID string
	place, ordinal               int64
}

// markRead stores a marker if the previous one allows it.
func (r *Reader) markRead(ctx context.Context, tx database.Tx, m marker, unless string) (changed bool, err error) {
	const insert = `insert into read_markers (reader, session_id, message_id, place, ordinal, at)
		values ($1, $2, $3, $4, $5, $6) on conflict (reader, session_id) do `
	reader := database.EncodeText(m.reader)
	if _, err := tx.ExecContext(ctx, insert+`nothing`, reader, "", "", -1, -1, r.options.Now()); err != nil {
		return false, err
	}
	result, err := tx.ExecContext(ctx, insert+`update set message_id = excluded.message_id, place = excluded.place,
		ordinal = excluded.ordinal, at = excluded.at`+unless, reader, m.sessionID, m.messageID, m.place, m.ordinal, r.options.Now())
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

// readTo returns the last entry that a reader has read, "" for none.
func readTo(ctx context.Context, q database.Querier, reader, sessionID string) (string, error) {
	all, err := database.ReadTexts(ctx, q, "read what was read", `select message_id from read_markers
		where reader = $1 and session_id = $2`, database.EncodeText(reader), database.EncodeText(sessionID))
	return strings.Join(all, ""), err
}
