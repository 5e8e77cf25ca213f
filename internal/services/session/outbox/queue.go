package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"harness/internal/lib/ids"
	"harness/internal/lib/javascript"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/lineage"
	"harness/internal/services/session/store"
)

// toSend returns a queued message in the form to send, with the pictures that it names.
func (o *Outbox) toSend(ctx context.Context, one session.QueuedMessage) (session.Message, error) {
	if one.Damaged {
		return session.Message{}, session.ErrQueuedDamaged
	}
	m := one.Content
	message := session.Message{Text: m.Text, Images: m.Images, Model: m.Model, Effort: m.Effort, ApprovalPolicy: m.ApprovalPolicy,
		NetworkAccess: m.NetworkAccess, FilesystemSandbox: m.FilesystemSandbox, Author: m.Author}
	var err error
	if message.Text, err = lineage.Addressed(ctx, o.opts.DB.Read(), one.ID, m.Text); err != nil {
		return message, err
	}
	if o.opts.Pictures != nil && len(m.Images) > 0 {
		message.Images, err = o.opts.Pictures(ctx, one.SessionID, m.Images)
	}
	return message, err
}

// authorOf returns the author of a message: the caller, unless it names one.
func (o *Outbox) authorOf(ctx context.Context, message session.Message) session.Author {
	if message.Author.Actor != "" {
		return message.Author
	}
	return session.Author{Actor: o.opts.Journal.Actor(ctx), Name: o.opts.Journal.ActorName(ctx), At: o.opts.Now()}
}

// EventQueue publishes the queue of a session.
const EventQueue = "message_queue_updated"

// Queued lists the queued messages of a session, in sending order.
func (o *Outbox) Queued(ctx context.Context, sessionID string) ([]session.QueuedMessage, error) {
	return store.ReadQueued(ctx, o.opts.DB.Read(), `session_id = $1`, database.EncodeText(sessionID))
}

// changeQueue edits a session's queue in one unit, and sends all clients the new queue.
func (o *Outbox) changeQueue(ctx context.Context, sessionID string,
	edit func(ctx context.Context, tx database.Tx) error) (now []session.QueuedMessage, err error) {
	_, err = o.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		systemOwned, err := store.IsSystemOwned(ctx, tx, sessionID)
		if err != nil {
			return nil, journal.Refuse(err)
		}
		if err := edit(ctx, tx); err != nil {
			return nil, err
		}
		if now, err = store.ReadQueued(ctx, tx, `session_id = $1`, database.EncodeText(sessionID)); err != nil {
			return nil, err
		}
		return []journal.Event{queueUpdated(sessionID, now, systemOwned, o.opts.Now(), nil)}, nil
	})
	o.WakeQueue()
	return now, err
}

// queueUpdated is the event with a session's queue, and with the message that was just sent (nil for none).
func queueUpdated(sessionID string, now []session.QueuedMessage, systemOwned bool, at int64, sent *sentMessage) journal.Event {
	queued := make([]json.RawMessage, len(now))
	for i, one := range now {
		queued[i] = one.Encode()
	}
	return session.NewEvent(sessionID, EventQueue, at, systemOwned, javascript.MustEncode(struct {
		SessionID string            `json:"sessionId"`
		Data      []json.RawMessage `json:"data"`
		Sent      *sentMessage      `json:"sent,omitempty"`
	}{sessionID, queued, sent}))
}

// Wait queues a message. It is sent once the session's running turns and all earlier messages have ended. Errors
// include ErrQueueFull and *FolderError.
func (o *Outbox) Wait(ctx context.Context, sessionID string, message session.Message) (id string, now []session.QueuedMessage, err error) {
	if err := o.sessions.CheckWorkspace(ctx, sessionID); err != nil {
		return "", nil, err
	}
	id = ids.New()
	asked := o.opts.Trace(ctx).String()
	now, err = o.changeQueue(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		var n, last int64
		if err := tx.QueryRowContext(ctx, `select count(*), coalesce(max(place), 0) from queued_messages where session_id = $1`,
			database.EncodeText(sessionID)).Scan(&n, &last); err != nil {
			return fmt.Errorf("count waiting messages: %w", err)
		}
		if n >= session.MaxQueued {
			return journal.Refuse(session.ErrQueueFull)
		}
		if message.Key != "" {
			if err := insertKey(ctx, tx, messageKey{key: message.Key, sessionID: sessionID, made: id, at: o.opts.Now()}); err != nil {
				return err
			}
		}
		text := database.EncodeText(string(javascript.MustEncode(session.QueuedContent{Text: message.Text, Images: message.Images,
			Model: message.Model, Effort: message.Effort,
			ApprovalPolicy: message.ApprovalPolicy, NetworkAccess: message.NetworkAccess,
			FilesystemSandbox: message.FilesystemSandbox, Trace: asked, Author: o.authorOf(ctx, message)})))
		_, err := tx.ExecContext(ctx, `insert into queued_messages (`+store.QueuedColumns+`)
			values ($1, $2, $3, $4, 'queued', '', '', $5, $6)`, id, database.EncodeText(sessionID), last+1, text, o.opts.Now(),
			store.QueuedChecksum(text))
		if err == nil && message.Mail != nil {
			err = lineage.InsertMail(ctx, tx, id, sessionID, *message.Mail, o.opts.Now())
		}
		return err
	})
	return id, now, err
}

// EditQueued changes the text of a queued message; a held message becomes sendable again. Errors include
// ErrQueuedNotFound and ErrQueuedSent.
func (o *Outbox) EditQueued(ctx context.Context, sessionID, id, text string) ([]session.QueuedMessage, error) {
	return o.changeQueue(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		one, err := store.ReadUnsent(ctx, tx, sessionID, id)
		if err != nil {
			return err
		}
		one.Content.Text = text
		text := database.EncodeText(string(javascript.MustEncode(one.Content)))
		_, err = tx.ExecContext(ctx, `update queued_messages set message = $2, checksum = $3, state = 'queued', error = ''
			where id = $1`, one.ID, text, store.QueuedChecksum(text))
		return err
	})
}

// DropQueued removes a queued message. Errors include ErrQueuedNotFound and ErrQueuedSent.
func (o *Outbox) DropQueued(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error) {
	return o.changeQueue(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		one, err := store.ReadUnsent(ctx, tx, sessionID, id)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `delete from queued_messages where id = $1`, one.ID)
		return err
	})
}

// MoveQueued moves a queued message before another one, or to the end for "". Errors include ErrQueuedNotFound and
// ErrQueuedSent.
func (o *Outbox) MoveQueued(ctx context.Context, sessionID, id, before string) ([]session.QueuedMessage, error) {
	return o.changeQueue(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		moved, err := store.ReadUnsent(ctx, tx, sessionID, id)
		if err != nil {
			return err
		}
		if before != "" && before != id {
			if _, err := store.ReadUnsent(ctx, tx, sessionID, before); err != nil {
				return err
			}
		}
		all, err := store.ReadQueued(ctx, tx, `session_id = $1`, database.EncodeText(sessionID))
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

// SendNow sends a queued message immediately. If the runtime steers, the message joins the running turn; otherwise
// SendNow interrupts that turn and starts a new one. A held message is sent again. Errors include ErrQueuedNotFound
// and ErrQueuedSent.
func (o *Outbox) SendNow(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error) {
	sess, adapter, err := o.sessions.Owned(ctx, sessionID)
	if err != nil {
		return nil, err
	}
	o.sessions.LoadView(sess.Runtime, sessionID)
	active := o.opts.Index.ActiveTurn(sessionID)
	now, err := o.moveToFront(ctx, sessionID, id)
	if err != nil || active == "" {
		return now, err // the loop that sends the queue sends it
	}
	if _, steers := runtime.Has[runtime.Steerer](adapter, runtime.OpSteer); steers {
		err = o.steerQueued(ctx, now[0])
	} else {
		_, err = o.turns.StopTurn(ctx, sessionID, active, true) // the message continues the work of that turn
		if errors.Is(err, session.ErrNoActiveTurn) || errors.Is(err, session.ErrWrongTurn) {
			err = nil // that turn has ended
		}
	}
	if err != nil {
		return nil, err
	}
	return o.Queued(ctx, sessionID)
}

// moveToFront moves a queued message before all others and makes it sendable, even if it was held.
func (o *Outbox) moveToFront(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error) {
	return o.changeQueue(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		if _, err := store.ReadUnsent(ctx, tx, sessionID, id); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `update queued_messages set state = 'queued', error = '', place =
			(select min(place) from queued_messages where session_id = $2) - 1 where id = $1`,
			database.EncodeText(id), database.EncodeText(sessionID))
		return err
	})
}

// steerQueued sends a queued message into the running turn, and records it like any other queued message. If a failure
// leaves open whether the runtime accepted the message, settling holds it (settle).
func (o *Outbox) steerQueued(ctx context.Context, one session.QueuedMessage) error {
	var begun atomic.Bool // also set if the unit runs after Send returned
	message, err := o.toSend(ctx, one)
	if err != nil {
		return err
	}
	message.Begin = func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		still, err := store.ReadUnsent(ctx, tx, one.SessionID, one.ID)
		if err != nil {
			return nil, err
		}
		if still.Text != one.Text {
			return nil, journal.Refuse(errQueuedChanged)
		}
		begun.Store(true)
		return o.Enqueue(ctx, tx, one, session.QueuedSending, steeredMark, "")
	}
	message.Accepted = func(ctx context.Context, tx database.Tx, turnID string) ([]journal.Event, error) {
		return o.dequeueSent(ctx, tx, one, turnID)
	}
	_, err = o.turns.Send(ctx, one.SessionID, message)
	var refused *runtime.Error
	switch {
	case errors.Is(err, session.ErrQueuedNotFound), errors.Is(err, session.ErrQueuedSent), errors.Is(err, errQueuedChanged):
		return nil // the turn ended and the message starts one, or a client edited or dropped it
	case err == nil || !begun.Load():
		return err
	case errors.As(err, &refused):
		return errors.Join(err, o.markQueued(context.WithoutCancel(ctx), one, session.QueuedHeld, err.Error()))
	}
	return errors.Join(err, o.settleInFlight(context.WithoutCancel(ctx), one.SessionID))
}
