package session

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// WaitingState is how a message stands that waits for its session's turn to end.
type WaitingState string

// The states of a waiting message. One that is held keeps those behind it waiting until somebody edits, sends or drops
// it.
const (
	WaitingQueued  WaitingState = "queued"
	WaitingSending WaitingState = "sending"
	WaitingHeld    WaitingState = "held"
)

// Waiting is a message that is sent when the turns before it have ended.
type Waiting struct {
	ID        string
	SessionID string
	Text      string
	Images    int
	State     WaitingState
	// Error is why it is held, "" when it is not.
	Error string
	// CreatedAt is in ms.
	CreatedAt int64
	place     int64
	mark      string
	message   waitingMessage
	damaged   bool // what it says is not known
}

// waitingMessage is what is kept of a Message until it is sent.
type waitingMessage struct {
	Text string `json:"text"`
	// Images are as the client named them: pictures that were uploaded are read when they are sent.
	Images            []string `json:"images,omitempty"`
	Model             *string  `json:"model,omitempty"`
	Effort            string   `json:"effort,omitempty"`
	ApprovalPolicy    *string  `json:"approvalPolicy,omitempty"`
	NetworkAccess     *string  `json:"networkAccess,omitempty"`
	FilesystemSandbox *string  `json:"filesystemSandbox,omitempty"`
	// Trace is that of the request it came with, as trace.stored.
	Trace string `json:"trace,omitempty"`
}

// toSend is a waiting message as it is sent, with the pictures that it names.
func (s *Service) toSend(ctx context.Context, one Waiting) (Message, error) {
	if one.damaged {
		return Message{}, ErrWaitingDamaged
	}
	m := one.message
	message := Message{Text: m.Text, Images: m.Images, Model: m.Model, Effort: m.Effort, ApprovalPolicy: m.ApprovalPolicy,
		NetworkAccess: m.NetworkAccess, FilesystemSandbox: m.FilesystemSandbox}
	var err error
	if s.opts.Pictures != nil && len(m.Images) > 0 {
		message.Images, err = s.opts.Pictures(ctx, one.SessionID, m.Images)
	}
	return message, err
}

// MaxWaiting is how many messages may wait in one session.
const MaxWaiting = 100

// Errors of waiting messages.
var (
	// ErrWaitingNotFound: no message of that id waits in the session (any more).
	ErrWaitingNotFound = errors.New("no such message waits in this session")
	// ErrWaitingSent: the message is being told to the runtime.
	ErrWaitingSent = errors.New("the message is being sent")
	// ErrWaitingDamaged: what the message says is not known.
	ErrWaitingDamaged = errors.New("the message is damaged in the database of the server; drop it, and write it again")
	// ErrWaitingFull: as many messages wait as may.
	ErrWaitingFull = fmt.Errorf("%d messages wait in this session; send or drop one first", MaxWaiting)
)

const eventWaiting = "message_queue_updated"

const waitingColumns = `id, session_id, place, message, state, mark, error, created_at, checksum`

func readWaiting(ctx context.Context, q database.Querier, where string, args ...any) ([]Waiting, error) {
	return database.ReadAll(ctx, q, "read waiting messages", func(row database.Row) (w Waiting, err error) {
		var (
			message string
			kept    sql.NullInt64
		)
		err = row.Scan(&w.ID, &w.SessionID, &w.place, &message, &w.State, &w.mark, &w.Error, &w.CreatedAt, &kept)
		if err != nil {
			return w, err
		}
		for _, text := range []*string{&w.SessionID, &w.Error} {
			*text = database.DecodeText(*text)
		}
		if kept.Valid && kept.Int64 != storedMessage(message) {
			if w.damaged = true; w.State == WaitingQueued {
				w.State, w.Error = WaitingHeld, ErrWaitingDamaged.Error()
			}
			return w, nil
		}
		if err := json.Unmarshal([]byte(database.DecodeText(message)), &w.message); err != nil {
			return w, fmt.Errorf("read waiting message %s: %w", w.ID, err)
		}
		w.Text, w.Images = w.message.Text, len(w.message.Images)
		return w, nil
	}, `select `+waitingColumns+` from queued_messages where `+where+` order by session_id, place`, args...)
}

// storedMessage is the checksum of a message as it is stored.
func storedMessage(text string) int64 { return database.Checksum(0).Add(text).Column(0) }

// Waiting lists the messages that wait in a session, in the order they will be sent.
func (s *Service) Waiting(ctx context.Context, sessionID string) ([]Waiting, error) {
	return readWaiting(ctx, s.db.Read(), `session_id = $1`, database.EncodeText(sessionID))
}

// changeWaiting edits a session's waiting messages in one unit, and tells everybody what waits then.
func (s *Service) changeWaiting(ctx context.Context, sessionID string,
	edit func(ctx context.Context, tx database.Tx) error) (now []Waiting, err error) {
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
func waitingUpdated(sessionID string, now []Waiting, systemOwned bool, at int64, sent *sentMessage) journal.Event {
	told := make([]json.RawMessage, len(now))
	for i, one := range now {
		told[i] = one.encode()
	}
	return sessionEvent(sessionID, eventWaiting, at, systemOwned, encode(struct {
		SessionID string            `json:"sessionId"`
		Data      []json.RawMessage `json:"data"`
		Sent      *sentMessage      `json:"sent,omitempty"`
	}{sessionID, told, sent}))
}

// encode is a waiting message as clients see it, in frames and answers alike.
func (w Waiting) encode() json.RawMessage {
	return encode(struct {
		ID        string       `json:"id"`
		Text      string       `json:"text"`
		Images    int          `json:"images"`
		State     WaitingState `json:"state"`
		Error     *string      `json:"error"`
		CreatedAt string       `json:"createdAt"`
	}{w.ID, w.Text, w.Images, w.State, orNil(w.Error), isoTime(w.CreatedAt)})
}

// MarshalJSON is the message as clients see it.
func (w Waiting) MarshalJSON() ([]byte, error) { return w.encode(), nil }

func orNil(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

// Wait has a message sent when the turns of its session that run and the messages before it are over. ErrWaitingFull,
// *FolderError.
func (s *Service) Wait(ctx context.Context, sessionID string, message Message) (id string, now []Waiting, err error) {
	if err := s.CheckWorkspace(ctx, sessionID); err != nil {
		return "", nil, err
	}
	id = newID()
	asked := s.traceOfRequest(ctx).stored()
	now, err = s.changeWaiting(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		var n, last int64
		if err := tx.QueryRowContext(ctx, `select count(*), coalesce(max(place), 0) from queued_messages where session_id = $1`,
			database.EncodeText(sessionID)).Scan(&n, &last); err != nil {
			return fmt.Errorf("count waiting messages: %w", err)
		}
		if n >= MaxWaiting {
			return journal.Refuse(ErrWaitingFull)
		}
		if message.Key != "" {
			if err := s.insertKey(ctx, tx, message.Key, sessionID, "", id); err != nil {
				return err
			}
		}
		text := database.EncodeText(string(encode(waitingMessage{message.Text, message.Images, message.Model, message.Effort,
			message.ApprovalPolicy, message.NetworkAccess, message.FilesystemSandbox, asked})))
		_, err := tx.ExecContext(ctx, `insert into queued_messages (`+waitingColumns+`)
			values ($1, $2, $3, $4, 'queued', '', '', $5, $6)`, id, database.EncodeText(sessionID), last+1, text, s.now(),
			storedMessage(text))
		return err
	})
	return id, now, err
}

// waitingOne reads a waiting message that is not being sent.
func waitingOne(ctx context.Context, tx database.Tx, sessionID, id string) (Waiting, error) {
	found, err := readWaiting(ctx, tx, `session_id = $1 and id = $2`, database.EncodeText(sessionID), database.EncodeText(id))
	switch {
	case err != nil:
		return Waiting{}, err
	case len(found) == 0:
		return Waiting{}, journal.Refuse(ErrWaitingNotFound)
	case found[0].State == WaitingSending:
		return Waiting{}, journal.Refuse(ErrWaitingSent)
	}
	return found[0], nil
}

// EditWaiting gives a waiting message another text; one that was held waits again. ErrWaitingNotFound, ErrWaitingSent.
func (s *Service) EditWaiting(ctx context.Context, sessionID, id, text string) ([]Waiting, error) {
	return s.changeWaiting(ctx, sessionID, func(ctx context.Context, tx database.Tx) error {
		one, err := waitingOne(ctx, tx, sessionID, id)
		if err != nil {
			return err
		}
		one.message.Text = text
		text := database.EncodeText(string(encode(one.message)))
		_, err = tx.ExecContext(ctx, `update queued_messages set message = $2, checksum = $3, state = 'queued', error = ''
			where id = $1`, one.ID, text, storedMessage(text))
		return err
	})
}

// DropWaiting takes a waiting message out. ErrWaitingNotFound, ErrWaitingSent.
func (s *Service) DropWaiting(ctx context.Context, sessionID, id string) ([]Waiting, error) {
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
func (s *Service) MoveWaiting(ctx context.Context, sessionID, id, before string) ([]Waiting, error) {
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
