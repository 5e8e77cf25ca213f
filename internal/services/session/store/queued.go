package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// QueuedColumns are the columns that ReadQueued reads, in its order.
const QueuedColumns = `id, session_id, place, message, state, mark, error, created_at, checksum`

// ReadQueued reads the queued messages that where selects.
func ReadQueued(ctx context.Context, q database.Querier, where string, args ...any) ([]session.QueuedMessage, error) {
	return database.ReadAll(ctx, q, "read waiting messages", func(row database.Row) (w session.QueuedMessage, err error) {
		var (
			message string
			kept    sql.NullInt64
		)
		err = row.Scan(&w.ID, &w.SessionID, &w.Position, &message, &w.State, &w.Marker, &w.Error, &w.CreatedAt, &kept)
		if err != nil {
			return w, err
		}
		for _, text := range []*string{&w.SessionID, &w.Error} {
			*text = database.DecodeText(*text)
		}
		if kept.Valid && kept.Int64 != QueuedChecksum(message) {
			if w.Damaged = true; w.State == session.QueuedReady {
				w.State, w.Error = session.QueuedHeld, session.ErrQueuedDamaged.Error()
			}
			return w, nil
		}
		if err := json.Unmarshal([]byte(database.DecodeText(message)), &w.Content); err != nil {
			return w, fmt.Errorf("read waiting message %s: %w", w.ID, err)
		}
		w.Text, w.Images = w.Content.Text, len(w.Content.Images)
		return w, nil
	}, `select `+QueuedColumns+` from queued_messages where `+where+` order by session_id, place`, args...)
}

// QueuedChecksum returns the checksum of a stored message.
func QueuedChecksum(text string) int64 { return database.Checksum(0).Add(text).Column(0) }

// ReadUnsent reads a queued message that is not being sent.
func ReadUnsent(ctx context.Context, tx database.Tx, sessionID, id string) (session.QueuedMessage, error) {
	found, err := ReadQueued(ctx, tx, `session_id = $1 and id = $2`, database.EncodeText(sessionID), database.EncodeText(id))
	switch {
	case err != nil:
		return session.QueuedMessage{}, err
	case len(found) == 0:
		return session.QueuedMessage{}, journal.Refuse(session.ErrQueuedNotFound)
	case found[0].State == session.QueuedSending:
		return session.QueuedMessage{}, journal.Refuse(session.ErrQueuedSent)
	}
	return found[0], nil
}
