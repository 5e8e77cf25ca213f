package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
)

// errKeyStored means that the caller must look up a message's earlier result (TurnForKey) before sending it again.
var errKeyStored = fmt.Errorf("%w: what became of a message with this key is not known here yet", runtime.ErrUnavailable)

// TurnForKey returns the result of an earlier message with a key (Message.Key): the turn it started or joined, or its
// id in the queue. "" means that the message had no result, and will have none. It returns ErrTurnUnknown if the
// result will stay unknown, and runtime.ErrUnavailable while it is unknown.
func (o *Outbox) TurnForKey(ctx context.Context, sessionID, key string) (string, error) {
	for settled := false; ; settled = true {
		var mark, made string
		err := o.opts.DB.Read().QueryRowContext(ctx, `select mark, made from message_keys where key = $1 and created_at > $2`, key,
			o.opts.Now()-store.MessageKeysKept.Milliseconds()).Scan(&mark, &made)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return "", nil
		case err != nil:
			return "", fmt.Errorf("read what a message made: %w", err)
		case made != "":
			return database.DecodeText(made), nil
		case mark == "":
			return "", fmt.Errorf("%w with which a message came before", session.ErrTurnUnknown)
		case settled: // the read is older than the write
			return "", runtime.WithKind(runtime.ErrUnavailable, session.ErrTurnUnsettled)
		}
		if err := o.settleInFlight(ctx, sessionID); err != nil {
			return "", runtime.WithKind(runtime.ErrUnavailable, err)
		}
	}
}

// NoteKey records that a message with a key is about to be sent to its session's runtime.
func (o *Outbox) NoteKey(ctx context.Context, tx database.Tx, sess session.Session, key string, steers bool) error {
	mine, err := o.sessions.Mine(ctx, tx, sess.ID, sess.Epoch)
	if err != nil {
		return err
	}
	if !mine {
		return journal.Refuse(&session.TakenError{SessionID: sess.ID, Node: o.opts.NodeID})
	}
	mark := steeredMark
	if !steers {
		if mark, err = newMark(ctx, tx, sess); err != nil {
			return err
		}
	}
	return insertKey(ctx, tx, messageKey{key: key, sessionID: sess.ID, mark: mark, at: o.opts.Now()})
}

// messageKey is a message's key with the mark of its sending, or with its result.
type messageKey struct {
	key, sessionID, mark, made string
	at                         int64 // ms
}

// insertKey stores a key if it is new, or if the stored one has expired.
func insertKey(ctx context.Context, tx database.Tx, one messageKey) error {
	inserted, err := tx.ExecContext(ctx, `insert into message_keys as k (key, session_id, mark, made, created_at)
		values ($1, $2, $3, $4, $5)
		on conflict (key) do update set mark = excluded.mark, made = excluded.made, created_at = excluded.created_at
		where k.created_at <= $6`, one.key, database.EncodeText(one.sessionID), one.mark, database.EncodeText(one.made), one.at,
		one.at-store.MessageKeysKept.Milliseconds())
	if err != nil {
		return fmt.Errorf("note the key of a message: %w", err)
	}
	if rows, err := inserted.RowsAffected(); err != nil || rows == 1 {
		return err
	}
	return journal.Refuse(errKeyStored)
}

// ForgetKey deletes the key of a message that its runtime refused. After any other failure the runtime may have
// accepted the message. Then a later look-up of the key or the next message resolves it.
func (o *Outbox) ForgetKey(ctx context.Context, key string, failure error) error {
	var refused *runtime.Error
	if key == "" || !errors.As(failure, &refused) && !errors.Is(failure, runtime.ErrTurnActive) {
		return nil
	}
	return o.opts.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := tx.ExecContext(ctx, `delete from message_keys where key = $1`, key); err != nil {
			return nil, fmt.Errorf("forget the key of a message: %w", err)
		}
		return nil, nil
	})
}

// StoreKeyResult stores the result of a message with a key.
func StoreKeyResult(ctx context.Context, tx database.Tx, key, made string) error {
	if _, err := tx.ExecContext(ctx, `update message_keys set mark = '', made = $2 where key = $1`, key,
		database.EncodeText(made)); err != nil {
		return fmt.Errorf("note what a message made: %w", err)
	}
	return nil
}

// keysInFlight lists the messages with keys that are being sent to a session's runtime, or whose sending was
// interrupted.
func (o *Outbox) keysInFlight(ctx context.Context, sessionID string) ([]InFlight, error) {
	return database.ReadAll(ctx, o.opts.DB.Read(), "read the messages that were being sent", func(row database.Row) (InFlight, error) {
		var key, mark string
		err := row.Scan(&key, &mark)
		return InFlight{sessionID, mark, func(ctx context.Context, turnID string, unknown bool) error {
			return o.settleKey(ctx, key, mark, turnID, unknown)
		}}, err
	}, `select key, mark from message_keys where session_id = $1 and mark <> ''`, database.EncodeText(sessionID))
}

// settleKey stores the result of a message with a key whose sending was interrupted. It deletes the key if the message
// had no result.
func (o *Outbox) settleKey(ctx context.Context, key, mark, turnID string, unknown bool) error {
	return o.opts.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		var err error
		if turnID != "" || unknown {
			_, err = tx.ExecContext(ctx, `update message_keys set mark = '', made = $3 where key = $1 and mark = $2`, key, mark,
				database.EncodeText(turnID))
		} else {
			_, err = tx.ExecContext(ctx, `delete from message_keys where key = $1 and mark = $2`, key, mark)
		}
		if err != nil {
			return nil, fmt.Errorf("store what became of a message with a key: %w", err)
		}
		return nil, nil
	})
}
