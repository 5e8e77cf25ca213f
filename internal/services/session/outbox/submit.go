package outbox

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/lineage"
	"harness/internal/services/session/store"
)

// Submit is Send that never waits for a running turn. If the runtime cannot steer, Submit queues the message behind
// the turn and earlier messages. A later server may send it. Errors are those of Send, ErrQueueFull and *FolderError.
func (o *Outbox) Submit(ctx context.Context, sessionID string, message session.Message) (session.Sent, error) {
	sess, adapter, err := o.sessions.Owned(ctx, sessionID)
	if err != nil {
		return session.Sent{}, err
	}
	if _, steers := runtime.Has[runtime.Steerer](adapter, runtime.OpSteer); steers {
		return o.turns.Send(ctx, sessionID, message)
	}
	o.sessions.LoadView(sess.Runtime, sessionID)
	waiting, err := o.Queued(ctx, sessionID)
	if err != nil {
		return session.Sent{}, err
	}
	behind := len(waiting) > 0 && waiting[0].State != session.QueuedHeld // a held one waits for a user
	if !behind && o.opts.Index.ActiveTurn(sessionID) == "" {
		alone := message
		alone.Alone = true
		sent, err := o.turns.Send(ctx, sessionID, alone)
		if !errors.Is(err, runtime.ErrTurnActive) {
			return sent, err
		}
	}
	if err := o.sessions.CheckMessage(ctx, sess, adapter, message); err != nil {
		return session.Sent{}, err
	}
	if message.Names != nil {
		message.Images = message.Names
	}
	id, now, err := o.Wait(ctx, sessionID, message)
	if err != nil {
		return session.Sent{}, err
	}
	return session.Sent{QueuedID: id, Position: session.PositionOf(now, id)}, nil
}

// dequeueSent removes a sent message from the queue, and publishes the turn that it started or joined.
func (o *Outbox) dequeueSent(ctx context.Context, tx database.Tx, one session.QueuedMessage, turnID string) ([]journal.Event, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, one.SessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, `delete from queued_messages where id = $1`, one.ID)
	}
	if err == nil { // a repeated request with the message's key gets the turn
		_, err = tx.ExecContext(ctx, `update message_keys set made = $2 where session_id = $3 and made = $1`,
			database.EncodeText(one.ID), database.EncodeText(turnID), database.EncodeText(one.SessionID))
	}
	if err == nil {
		err = lineage.DeliverMail(ctx, tx, one.ID, turnID)
	}
	if err != nil {
		return nil, fmt.Errorf("store that waiting message %s was sent: %w", one.ID, err)
	}
	now, err := store.ReadQueued(ctx, tx, `session_id = $1`, database.EncodeText(one.SessionID))
	return []journal.Event{queueUpdated(one.SessionID, now, systemOwned, o.opts.Now(), &sentMessage{one.ID, turnID})}, err
}

// sentMessage is a queued message and the turn that it started or joined.
type sentMessage struct {
	ID     string `json:"id"`
	TurnID string `json:"turnId"`
}
