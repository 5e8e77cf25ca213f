package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"harness/internal/platform/database"
)

// EventRedacted is the type of an event whose session was permanently deleted: it keeps its position and loses its
// content.
const EventRedacted = "journal.redacted"

// Redact blanks a session's events in the journal, inside the unit that deletes the session. Positions and sequence
// numbers stay gap-free, and no replay shows the conversation again. Its cost grows with the session's events.
func Redact(ctx context.Context, tx database.Tx, sessionID string) error {
	if err := deleteParts(ctx, tx, `session_id = $1`, sessionID); err != nil {
		return err
	}
	_, err := tx.ExecContext(ctx,
		`update journal_events set type = $2, turn_id = '', item_id = '', actor = '', meta = '{}', payload = 'null', checksum = null
		where session_id = $1`, sessionID, EventRedacted)
	if err != nil {
		return fmt.Errorf("redact the journal of session %s: %w", sessionID, err)
	}
	if _, err := tx.ExecContext(ctx, `update journal_archive_sessions set deleted = 1 where session_id = $1`, sessionID); err != nil {
		return fmt.Errorf("have session %s redacted in the archive: %w", sessionID, err)
	}
	return nil
}

// Redacted returns the redacted form of an event of a deleted session.
func (r *Record) Redacted() Record {
	return Record{Pos: r.Pos, Seq: r.Seq, SchemaVersion: r.SchemaVersion, Event: Event{SessionID: r.SessionID, Type: EventRedacted,
		Time: r.Time, Source: r.Source, Broadcast: r.Broadcast, TraceID: r.TraceID, SpanID: r.SpanID,
		Meta: json.RawMessage("{}"), Payload: json.RawMessage("null")}}
}
