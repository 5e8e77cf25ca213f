package manager

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// MarkRead notes that somebody has read a session's transcript up to an entry, and tells whether that is further than
// before. Errors are those of Lookup, and ErrNoEntry.
func (s *Service) MarkRead(ctx context.Context, reader, sessionID, messageID string) (further bool, err error) {
	if _, err := s.Lookup(ctx, sessionID); err != nil {
		return false, err
	}
	id := database.EncodeText(sessionID)
	err = s.db.Update(ctx, func(tx database.Tx) error {
		var place, ordinal int64
		err := tx.QueryRowContext(ctx, `select place, ordinal from transcript_entries
			where session_id = $1 and message_id = $2 and place >= 0`, id, database.EncodeText(messageID)).Scan(&place, &ordinal)
		if errors.Is(err, sql.ErrNoRows) {
			return session.ErrNoEntry
		}
		if err != nil {
			return err
		}
		further, err = s.mark(ctx, tx, reader, id, database.EncodeText(messageID), place, ordinal,
			` where (excluded.place, excluded.ordinal) > (read_markers.place, read_markers.ordinal)`)
		return err
	})
	return further, markFailed(sessionID, err)
}

// MarkUnread has a session be unread for somebody, whatever that one has read. Errors are those of Lookup.
func (s *Service) MarkUnread(ctx context.Context, reader, sessionID string) error {
	if _, err := s.Lookup(ctx, sessionID); err != nil {
		return err
	}
	return markFailed(sessionID, s.db.Update(ctx, func(tx database.Tx) error {
		_, err := s.mark(ctx, tx, reader, database.EncodeText(sessionID), "", -1, -1, "")
		return err
	}))
}

func markFailed(sessionID string, err error) error {
	if err == nil || errors.Is(err, session.ErrNoEntry) {
		return err
	}
	return fmt.Errorf("note what was read of session %s: %w", sessionID, err)
}

// mark stores a marker, where the one before allows it.
func (s *Service) mark(ctx context.Context, tx database.Tx, reader, session, message string, place, ordinal int64,
	unless string) (changed bool, err error) {
	const insert = `insert into read_markers (reader, session_id, message_id, place, ordinal, at)
		values ($1, $2, $3, $4, $5, $6) on conflict (reader, session_id) do `
	reader = database.EncodeText(reader)
	if _, err := tx.ExecContext(ctx, insert+`nothing`, reader, "", "", -1, -1, s.now()); err != nil {
		return false, err
	}
	result, err := tx.ExecContext(ctx, insert+`update set message_id = excluded.message_id, place = excluded.place,
		ordinal = excluded.ordinal, at = excluded.at`+unless, reader, session, message, place, ordinal, s.now())
	if err != nil {
		return false, err
	}
	rows, err := result.RowsAffected()
	return rows > 0, err
}

// fillRead tells how far somebody has read sessions whose figures are known, in one query. What one has never opened is
// unread when it is younger than that one's first marker; runtimes count in seconds.
func fillRead(ctx context.Context, q database.Querier, reader string, sessions ...*session.Session) error {
	if len(sessions) == 0 {
		return nil
	}
	byID := make(map[string]*session.Session, len(sessions))
	args, marks := []any{database.EncodeText(reader)}, make([]string, len(sessions))
	for i, one := range sessions {
		byID[one.ID] = one
		args, marks[i] = append(args, database.EncodeText(one.ID)), "$"+strconv.Itoa(i+2)
	}
	const kept = `select 1 from transcript_entries e where e.session_id = s.id and e.place >= 0 and not exists (
		select 1 from rolled_back_turns b where b.session_id = e.session_id and b.turn_id = e.turn_id)`
	return database.ReadEach(ctx, q, "read what was read", func(row database.Row) error {
		var (
			id, message string
			unread      int64
		)
		if err := row.Scan(&id, &message, &unread); err != nil {
			return err
		}
		if one := byID[database.DecodeText(id)]; one != nil && one.Figures != nil {
			one.Figures.ReadTo, one.Figures.Unread = database.DecodeText(message), unread > 0
		}
		return nil
	}, `select s.id, coalesce(m.message_id, ''), case
			when m.reader is not null and exists (`+kept+` and (e.place, e.ordinal) > (m.place, m.ordinal)) then 1
			when m.reader is null and exists (select 1 from read_markers f where f.reader = $1 and f.session_id = ''
				and f.at / 1000 * 1000 <= s.created_at) and exists (`+kept+`) then 1
			else 0 end
		from sessions s left join read_markers m on m.reader = $1 and m.session_id = s.id
		where s.id in (`+strings.Join(marks, ", ")+`)`, args...)
}

// readTo is the entry up to which somebody has read a session, "" for none.
func readTo(ctx context.Context, q database.Querier, reader, sessionID string) (string, error) {
	all, err := database.ReadTexts(ctx, q, "read what was read", `select message_id from read_markers
		where reader = $1 and session_id = $2`, database.EncodeText(reader), database.EncodeText(sessionID))
	return strings.Join(all, ""), err
}
