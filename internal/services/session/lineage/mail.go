package lineage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// The limits of mail: a chain of answers ends, and no session floods another one.
const (
	maxHops     = 8
	maxMail     = 20 // from one session to another in an hour
	maxReceipts = 50
)

// Receipts lists the selected messages between sessions, newest first. Their states are derived from the queue and the
// turns.
func (r *Reader) Receipts(ctx context.Context, of session.ReceiptQuery) ([]session.Receipt, error) {
	return receipts(ctx, r.db.Read(), `($1 = '' or m.id = $1) and ($2 = '' or m.from_session = $2) and ($3 = '' or m.session_id = $3)`,
		database.EncodeText(of.ID), database.EncodeText(of.From), database.EncodeText(of.To))
}

func receipts(ctx context.Context, q database.Querier, where string, args ...any) ([]session.Receipt, error) {
	return database.ReadAll(ctx, q, "read the mail of sessions", func(row database.Row) (one session.Receipt, err error) {
		var queued, turn string
		err = row.Scan(&one.ID, &one.To, &one.From, &one.ReplyTo, &one.Hops, &one.TurnID, &one.At, &queued, &one.Error, &turn)
		for _, text := range []*string{&one.To, &one.From, &one.ReplyTo, &one.TurnID, &one.Error} {
			*text = database.DecodeText(*text)
		}
		one.State = stateOf(one.TurnID, session.QueuedState(queued), runtime.TurnStatus(turn))
		return one, err
	}, `select m.id, m.session_id, m.from_session, m.reply_to, m.hops, m.turn_id, m.created_at, coalesce(q.state, ''),
			coalesce(q.error, ''), coalesce(t.status, '')
		from session_mail m left join queued_messages q on q.id = m.id
		left join turns t on t.session_id = m.session_id and t.turn_id = m.turn_id
		where `+where+fmt.Sprintf(` order by m.created_at desc, m.id limit %d`, maxReceipts), args...)
}

func stateOf(turnID string, queued session.QueuedState, turn runtime.TurnStatus) session.MailState {
	switch {
	case queued == session.QueuedHeld:
		return session.MailHeld
	case queued != "":
		return session.MailQueued
	case turnID == "":
		return session.MailDropped
	}
	switch turn {
	case runtime.TurnDone:
		return session.MailAnswered
	case runtime.TurnInterrupted:
		return session.MailInterrupted
	case runtime.TurnFailed:
		return session.MailFailed
	default:
		return session.MailDelivered
	}
}

// Address completes the envelope of a new message to a session. If an earlier request had its key, it returns the id of
// that message. session.ErrKeyReused, *session.TreeLimitError.
func (r *Reader) Address(ctx context.Context, to string, mail *session.Envelope) (sent string, err error) {
	q, now := r.db.Read(), r.now()
	var request string
	err = q.QueryRowContext(ctx, `select id, request from session_mail where from_session = $1 and mail_key = $2 and created_at > $3`,
		database.EncodeText(mail.From), database.EncodeText(mail.Key), now-keyKept.Milliseconds()).Scan(&sent, &request)
	switch {
	case err == nil && request != mail.Request:
		return "", session.ErrKeyReused
	case err == nil || !errors.Is(err, sql.ErrNoRows):
		return sent, err
	}
	err = q.QueryRowContext(ctx, `select coalesce(max(m.hops), 0) + 1 from session_mail m
		join turns t on t.session_id = m.session_id and t.turn_id = m.turn_id
		where m.session_id = $1 and t.status = 'inProgress'`, database.EncodeText(mail.From)).Scan(&mail.Hops)
	if err != nil {
		return "", fmt.Errorf("read what session %s was sent: %w", mail.From, err)
	}
	if mail.Hops > maxHops {
		return "", &session.TreeLimitError{Reason: fmt.Sprintf(
			"a message follows from at most %d others; end the turn instead of answering", maxHops)}
	}
	return "", checkRate(ctx, q, to, mail.From, now)
}

// checkRate refuses a message beyond the rate of its sender: *session.TreeLimitError.
func checkRate(ctx context.Context, q database.Querier, to, from string, now int64) error {
	var n, first int64
	err := q.QueryRowContext(ctx, `select count(*), coalesce(min(created_at), 0) from session_mail
		where from_session = $1 and session_id = $2 and created_at > $3`, database.EncodeText(from), database.EncodeText(to),
		now-time.Hour.Milliseconds()).Scan(&n, &first)
	if err != nil {
		return fmt.Errorf("count the mail of session %s: %w", from, err)
	}
	if n >= maxMail {
		return &session.TreeLimitError{Reason: fmt.Sprintf("%d messages were sent to that session within an hour", n),
			RetryAfter: until(first, now)}
	}
	return nil
}

// InsertMail stores the envelope of a queued message in its unit. Its error undoes the unit.
func InsertMail(ctx context.Context, tx database.Tx, id, to string, mail session.Envelope, now int64) error {
	if err := checkRate(ctx, tx, to, mail.From, now); err != nil {
		return err
	}
	from, key := database.EncodeText(mail.From), database.EncodeText(mail.Key)
	if _, err := tx.ExecContext(ctx, `update session_mail set mail_key = id where from_session = $1 and mail_key = $2
		and created_at <= $3`, from, key, now-keyKept.Milliseconds()); err != nil {
		return fmt.Errorf("forget an old key of session %s: %w", mail.From, err)
	}
	if _, err := tx.ExecContext(ctx, `insert into session_mail
		(id, session_id, from_session, reply_to, hops, mail_key, request, turn_id, created_at)
		values ($1, $2, $3, $4, $5, $6, $7, '', $8)`, id, database.EncodeText(to), from, database.EncodeText(mail.ReplyTo), mail.Hops, key,
		mail.Request, now); err != nil {
		return fmt.Errorf("store the envelope of message %s: %w", id, err)
	}
	return nil
}

// DeliverMail stores the turn that received a message, in the unit that removes it from the queue.
func DeliverMail(ctx context.Context, tx database.Tx, id, turnID string) error {
	_, err := tx.ExecContext(ctx, `update session_mail set turn_id = $2 where id = $1`, database.EncodeText(id),
		database.EncodeText(turnID))
	return err
}

// Addressed returns the text of a queued message as the agent receives it. A message from another session names its
// sender, and quotes the text, so that no text can pass for a user's.
func Addressed(ctx context.Context, q database.Querier, id, text string) (string, error) {
	var from, title string
	err := q.QueryRowContext(ctx, `select m.from_session, coalesce(s.name, '') from session_mail m
		left join sessions s on s.id = m.from_session where m.id = $1`, database.EncodeText(id)).Scan(&from, &title)
	if errors.Is(err, sql.ErrNoRows) {
		return text, nil
	}
	if err != nil {
		return "", fmt.Errorf("read the envelope of message %s: %w", id, err)
	}
	lines := strings.NewReplacer("\r\n", "\n> ", "\n", "\n> ", "\r", "\n> ").Replace(text)
	return fmt.Sprintf("[message from session %s %q, not from your user]\n> %s", database.DecodeText(from), database.DecodeText(title),
		lines), nil
}
