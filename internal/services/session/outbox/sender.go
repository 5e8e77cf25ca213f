package outbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"harness/internal/lib/wake"
	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/platform/telemetry"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// waitingAgain is the pause after a failed attempt to send a queued message.
const waitingAgain = time.Second

// queueSender tracks which sessions have a goroutine that sends their queued messages.
type queueSender struct {
	mu   sync.Mutex
	busy map[string]bool
	wake wake.Signal
}

func newQueueSender() *queueSender {
	return &queueSender{busy: map[string]bool{}, wake: wake.New()}
}

func (w *queueSender) take(sessionID string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.busy[sessionID] {
		return false
	}
	w.busy[sessionID] = true
	return true
}

func (w *queueSender) release(sessionID string) {
	w.mu.Lock()
	delete(w.busy, sessionID)
	w.mu.Unlock()
}

// SendQueued sends the queued messages of this node's sessions until ctx ends. Messages of one session are sent one by
// one.
func (o *Outbox) SendQueued(ctx context.Context) {
	var senders sync.WaitGroup
	defer senders.Wait()
	o.WakeQueue()
	o.sender.wake.Loop(ctx, func(ctx context.Context) (again time.Duration) {
		found, err := o.sendQueued(ctx, &senders)
		if err != nil && ctx.Err() == nil {
			o.opts.Logger.Warn().Err(err).Msg("cannot read queued messages; retrying")
		}
		if found || err != nil {
			return waitingAgain
		}
		return 0
	})
}

func (o *Outbox) sendQueued(ctx context.Context, senders *sync.WaitGroup) (found bool, err error) {
	sessions, err := database.ReadAll(ctx, o.opts.DB.Read(), "find waiting messages", func(row database.Row) (id string, err error) {
		err = row.Scan(&id)
		return database.DecodeText(id), err
	}, `select distinct q.session_id from queued_messages q join sessions s on s.id = q.session_id where s.node_id = $1`,
		o.opts.NodeID)
	if err != nil {
		return false, err
	}
	for _, id := range sessions {
		if o.sender.take(id) {
			senders.Go(func() {
				defer o.sender.release(id)
				if err := o.sendFirst(ctx, id); err != nil && ctx.Err() == nil {
					o.opts.Logger.Warn().Err(err).Str("session", id).Msg("cannot send a queued message; retrying")
				}
			})
		}
	}
	return len(sessions) > 0, nil
}

// errQueuedChanged means that a client edited, moved or dropped the message just before it was sent.
var errQueuedChanged = errors.New("the message changed")

// sendFirst sends a session's queued messages until none is left, or one is held.
func (o *Outbox) sendFirst(ctx context.Context, sessionID string) error {
	for ctx.Err() == nil {
		all, err := o.Queued(ctx, sessionID)
		if err != nil || len(all) == 0 || all[0].State == session.QueuedHeld {
			return err
		}
		if all[0].State == session.QueuedSending {
			err = o.settleInFlight(ctx, sessionID)
		} else {
			err = o.sendWhenIdle(ctx, all[0])
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sendWhenIdle sends a queued message as a new turn. It stores the attempt first, and stores the acceptance with the
// turn. If the server restarts in between, settleInFlight resolves the rest.
func (o *Outbox) sendWhenIdle(ctx context.Context, first session.QueuedMessage) error {
	id := first.SessionID
	sess, err := o.sessions.Stored(ctx, id)
	if err != nil {
		return err
	}
	o.sessions.LoadView(sess.Runtime, id)
	select {
	case <-o.opts.Index.WhenIdle(id):
	case <-ctx.Done():
		return ctx.Err()
	}
	message, err := o.toSend(ctx, first)
	if database.Transient(err) || ctx.Err() != nil {
		return errors.Join(err, ctx.Err())
	}
	if err != nil {
		return o.markQueued(ctx, first, session.QueuedHeld, err.Error())
	}
	message.Alone = true
	var begun atomic.Bool // also set if the unit runs after Send returned
	message.Begin = func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		all, err := store.ReadQueued(ctx, tx, `session_id = $1`, database.EncodeText(id))
		if err != nil {
			return nil, err
		}
		if len(all) == 0 || all[0].ID != first.ID || all[0].State != session.QueuedReady || all[0].Text != first.Text {
			return nil, journal.Refuse(errQueuedChanged)
		}
		mark, err := newMark(ctx, tx, sess)
		if err != nil {
			return nil, err
		}
		begun.Store(true)
		return o.Enqueue(ctx, tx, first, session.QueuedSending, mark, "")
	}
	message.Accepted = func(ctx context.Context, tx database.Tx, turnID string) ([]journal.Event, error) {
		return o.dequeueSent(ctx, tx, first, turnID)
	}
	_, err = o.turns.Send(inTrace(ctx, first.Content.Trace), id, message)
	var refused *runtime.Error
	switch {
	case err == nil, errors.Is(err, errQueuedChanged):
		return nil
	case errors.Is(err, runtime.ErrTurnActive):
		if !begun.Load() {
			return nil
		}
		return o.markQueued(ctx, first, session.QueuedReady, "")
	case begun.Load() && !errors.As(err, &refused):
		return nil // the next round settles it
	case errors.Is(err, runtime.ErrUnavailable) || errors.Is(err, runtime.ErrTimeout) || database.Transient(err) ||
		ctx.Err() != nil || errors.As(err, new(*session.LimitError)):
		if begun.Load() {
			err = errors.Join(err, o.markQueued(ctx, first, session.QueuedReady, ""))
		}
		return err
	}
	return o.markQueued(ctx, first, session.QueuedHeld, err.Error())
}

// settleQueued stores the result of a queued message whose sending was interrupted.
func (o *Outbox) settleQueued(ctx context.Context, one session.QueuedMessage, turnID string, unknown bool) error {
	switch {
	case unknown:
		return o.markQueued(ctx, one, session.QueuedHeld,
			"it is unknown whether the runtime received it; check the transcript, then send or remove it")
	case turnID != "":
		_, err := o.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
			return o.dequeueSent(ctx, tx, one, turnID)
		})
		return err
	}
	return o.markQueued(ctx, one, session.QueuedReady, "")
}

// markQueued runs Enqueue in a separate unit.
func (o *Outbox) markQueued(ctx context.Context, one session.QueuedMessage, state session.QueuedState, failure string) error {
	_, err := o.opts.Journal.Commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return o.Enqueue(ctx, tx, one, state, "", failure)
	})
	return err
}

// Enqueue sets the state of a message, and notifies all clients.
func (o *Outbox) Enqueue(ctx context.Context, tx database.Tx, one session.QueuedMessage, state session.QueuedState, mark, failure string) (
	[]journal.Event, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, one.SessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, err = tx.ExecContext(ctx, `update queued_messages set state = $2, mark = $3, error = $4 where id = $1`, one.ID,
		string(state), mark, database.EncodeText(failure))
	if err != nil {
		return nil, fmt.Errorf("store waiting message %s: %w", one.ID, err)
	}
	now, err := store.ReadQueued(ctx, tx, `session_id = $1`, database.EncodeText(one.SessionID))
	return []journal.Event{queueUpdated(one.SessionID, now, systemOwned, o.opts.Now(), nil)}, err
}

// inTrace returns a context that continues a stored trace, "" for none.
func inTrace(ctx context.Context, stored string) context.Context {
	of := session.ParseTrace("", stored)
	return telemetry.WithTrace(ctx, telemetry.Trace{TraceID: of.TraceID, SpanID: of.SpanID})
}
