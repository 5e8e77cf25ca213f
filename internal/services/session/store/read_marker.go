package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/services/session"
)

// MarkerError adds the session to an error of its read marker; session.ErrNoEntry stays unchanged.
func MarkerError(sessionID string, err error) error {
	if err == nil || errors.Is(err, session.ErrNoEntry) {
		return err
	}
	return fmt.Errorf("note what was read of session %s: %w", sessionID, err)
}

// FillReadMarkers sets how far a reader has read sessions with figures, in one query. A session that the reader never
// opened is unread if it is newer than the reader's first marker. Runtimes report times in seconds.
func FillReadMarkers(ctx context.Context, q database.Querier, reader string, sessions ...*session.Session) error {
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
