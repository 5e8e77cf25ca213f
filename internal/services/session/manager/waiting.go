package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
)

// toSend is a waiting message as it is sent, with the pictures that it names.
func (s *Service) toSend(ctx context.Context, one session.Waiting) (session.Message, error) {
	if one.Damaged {
		return session.Message{}, session.ErrWaitingDamaged
	}
	m := one.Content
	message := session.Message{Text: m.Text, Images: m.Images, Model: m.Model, Effort: m.Effort, ApprovalPolicy: m.ApprovalPolicy,
		NetworkAccess: m.NetworkAccess, FilesystemSandbox: m.FilesystemSandbox}
	var err error
	if s.opts.Pictures != nil && len(m.Images) > 0 {
		message.Images, err = s.opts.Pictures(ctx, one.SessionID, m.Images)
	}
	return message, err
}

const eventWaiting = "message_queue_updated"

const waitingColumns = `id, session_id, place, message, state, mark, error, created_at, checksum`

func readWaiting(ctx context.Context, q database.Querier, where string, args ...any) ([]session.Waiting, error) {
	return database.ReadAll(ctx, q, "read waiting messages", func(row database.Row) (w session.Waiting, err error) {
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
		if kept.Valid && kept.Int64 != storedMessage(message) {
			if w.Damaged = true; w.State == session.WaitingQueued {
				w.State, w.Error = session.WaitingHeld, session.ErrWaitingDamaged.Error()
			}
			return w, nil
		}
		if err := json.Unmarshal([]byte(database.DecodeText(message)), &w.Content); err != nil {
			return w, fmt.Errorf("read waiting message %s: %w", w.ID, err)
		}
		w.Text, w.Images = w.Content.Text, len(w.Content.Images)
		return w, nil
	}, `select `+waitingColumns+` from queued_messages where `+where+` order by session_id, place`, args...)
}

// storedMessage is the checksum of a message as it is stored.
func storedMessage(text string) int64 { return database.Checksum(0).Add(text).Column(0) }

// Waiting lists the messages that wait in a session, in the order they will be sent.
func (s *Service) Waiting(ctx context.Context, sessionID string) ([]session.Waiting, error) {
	return readWaiting(ctx, s.db.Read(), `session_id = $1`, database.EncodeText(sessionID))
}

// changeWaiting edits a session's waiting messages in one unit, and tells everybody what waits then.
func (s *Service) changeWaiting(ctx context.Context, sessionID string,
	edit func(ctx context.Context, tx database.Tx) error) (now []session.Waiting, err error) {
	_, err = s.journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		systemOwned, err := presence(ctx, tx, sessionID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		if err := edit(ctx, tx); err != nil {
			return nil, err
		}
		if now, err = readWaiting(ctx, tx, `session_id = $1`, database.EncodeText(sessionID)); err != nil {
			return nil, err
		}
		return []journal.Event{waitingUpdated(sessionID, now, systemOwned, s.now(), nil)}, nil
	})
	s.sender.want()
	return now, err
}

// waitingUpdated tells what waits in a session, and which message was sent, nil for none.
func waitingUpdated(sessionID string, now []session.Waiting, systemOwned bool, at int64, sent *sentMessage) journal.Event {
	told := make([]json.RawMessage, len(now))
	for i, one := range now {
		told[i] = one.Encode()
	}
	return sessionEvent(sessionID, eventWaiting, at, systemOwned, encode(struct {
		SessionID string            `json:"sessionId"`
		Data      []json.RawMessage `json:"data"`
		Sent      *sentMessage      `json:"sent,omitempty"`
	}{sessionID, told, sent}))
}

// Wait has a message sent when the turns of its session that run and the messages before it are over. ErrWaitingFull,
// *FolderError.
func (s *Service) Wait(ctx context.Context, sessionID string, message session.Message) (id string, now []session.Waiting, err error) {
	if err := s.CheckWorkspace(ctx, sessionID); err != nil {
		return "", nil, err
	}
	id = session.NewID()
	asked := s.traceOfRequest(ctx).String()
	now, err = s.changeWaiting(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		var n, last int64
		if err := tx.QueryRowContext(ctx, `select count(*), coalesce(max(place), 0) from queued_messages where session_id = $1`,
			database.EncodeText(sessionID)).Scan(&n, &last); err != nil {
			return fmt.Errorf("count waiting messages: %w", err)
		}
		if n >= session.MaxWaiting {
			return journal.Refuse(session.ErrWaitingFull)
		}
		if message.Key != "" {
			if err := s.insertKey(ctx, tx, message.Key, sessionID, "", id); err != nil {
				return err
			}
		}
		text := database.EncodeText(string(encode(session.QueuedContent{Text: message.Text, Images: message.Images,
			Model: message.Model, Effort: message.Effort,
			ApprovalPolicy: message.ApprovalPolicy, NetworkAccess: message.NetworkAccess,
			FilesystemSandbox: message.FilesystemSandbox, Trace: asked})))
		_, err := tx.ExecContext(ctx, `insert into queued_messages (`+waitingColumns+`)
			values ($1, $2, $3, $4, 'queued', '', '', $5, $6)`, id, database.EncodeText(sessionID), last+1, text, s.now(),
			storedMessage(text))
		return err
	})
	return id, now, err
}

// waitingOne reads a waiting message that is not being sent.
func waitingOne(ctx context.Context, tx database.Tx, sessionID, id string) (session.Waiting, error) {
	found, err := readWaiting(ctx, tx, `session_id = $1 and id = $2`, database.EncodeText(sessionID), database.EncodeText(id))
	switch {
	case err != nil:
		return session.Waiting{}, err
	case len(found) == 0:
		return session.Waiting{}, journal.Refuse(session.ErrWaitingNotFound)
	case found[0].State == session.WaitingSending:
		return session.Waiting{}, journal.Refuse(session.ErrWaitingSent)
	}
	return found[0], nil
}

// EditWaiting gives a waiting message another text; one that was held waits again. ErrWaitingNotFound, ErrWaitingSent.
func (s *Service) EditWaiting(ctx context.Context, sessionID, id, text string) ([]session.Waiting, error) {
	return s.changeWaiting(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		one, err := waitingOne(ctx, tx, sessionID, id)
		if err != nil {
			return err
		}
		one.Content.Text = text
		text := database.EncodeText(string(encode(one.Content)))
		_, err = tx.ExecContext(ctx, `update queued_messages set message = $2, checksum = $3, state = 'queued', error = ''
			where id = $1`, one.ID, text, storedMessage(text))
		return err
	})
}

// DropWaiting takes a waiting message out. ErrWaitingNotFound, ErrWaitingSent.
func (s *Service) DropWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	return s.changeWaiting(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		one, err := waitingOne(ctx, tx, sessionID, id)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `delete from queued_messages where id = $1`, one.ID)
		return err
	})
}

// MoveWaiting puts a waiting message before another one, or with "" behind all. ErrWaitingNotFound, ErrWaitingSent.
func (s *Service) MoveWaiting(ctx context.Context, sessionID, id, before string) ([]session.Waiting, error) {
	return s.changeWaiting(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		moved, err := waitingOne(ctx, tx, sessionID, id)
		if err != nil {
			return err
		}
		if before != "" && before != id {
			if _, err := waitingOne(ctx, tx, sessionID, before); err != nil {
				return err
			}
		}
		all, err := readWaiting(ctx, tx, `session_id = $1`, database.EncodeText(sessionID))
		if err != nil || before == id {
			return err
		}
		var order []string
		for _, one := range all {
			if one.ID == before {
				order = append(order, moved.ID)
			}
			if one.ID != moved.ID {
				order = append(order, one.ID)
			}
		}
		if before == "" {
			order = append(order, moved.ID)
		}
		for place, one := range order {
			if _, err := tx.ExecContext(ctx, `update queued_messages set place = $2 where id = $1`, one, place+1); err != nil {
				return fmt.Errorf("move waiting message %s: %w", id, err)
			}
		}
		return nil
	})
}
