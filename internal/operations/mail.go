package operations

import (
	"context"
	"errors"

	"harness/internal/services/session"
)

// MaxMail limits the text of a message from one session to another.
const MaxMail = 32_000

// Mail is a message from one session to another.
type Mail struct {
	// Key identifies the request: for 24 h, the same request with it is sent once.
	Key      string
	To, Text string
	// ReplyTo is the message that this one answers, "" for none.
	ReplyTo string
	// Now sends it before the running turn ends.
	Now bool `json:",omitempty"`
}

// Deliver names the operation of a session that sends mail to another one, for Errand.
const Deliver Operation = "deliver mail"

// SendMail queues a message of a session for one of its descendants, or for the session that sent the message which it
// answers; any other session does not exist for the sender (session.ErrNotFound). The agent reads who sent it.
// *session.TreeLimitError, session.ErrKeyReused; other errors are those of Enqueue.
func (s *Family) SendMail(ctx context.Context, from string, in Mail) (session.Receipt, error) {
	var none session.Receipt
	if err := s.access.Check(ctx, Read, from); err != nil {
		return none, err
	}
	var p problems
	p.text("key", in.Key, MaxSettingKey)
	p.text("text", in.Text, MaxMail)
	if err := p.err(); err != nil {
		return none, err
	}
	if err := s.checkAddress(ctx, from, in); err != nil {
		return none, err
	}
	keyed := in
	keyed.Now = false
	envelope := session.Envelope{From: from, ReplyTo: in.ReplyTo, Key: in.Key, Request: digest(keyed)}
	if refused := s.access.Check(ctx, Send, in.To); refused != nil {
		return s.sendElsewhere(ctx, refused, envelope, in)
	}
	release, err := s.locks.Acquire(ctx, "mail "+from)
	if err != nil {
		return none, err
	}
	defer release()
	id, err := s.store.Address(ctx, in.To, &envelope)
	if err == nil && id == "" {
		id, _, err = s.queue.Wait(ctx, in.To, session.Message{Text: in.Text, Mail: &envelope})
	}
	if err != nil {
		return none, err
	}
	sent, err := s.receipt(ctx, session.ReceiptQuery{ID: id})
	if err == nil && in.Now && sent.State == session.MailQueued {
		_, err = s.queue.SendNow(ctx, in.To, sent.ID)
	}
	return sent, err
}

// sendElsewhere sends mail through the node of its receiver, which refused names.
func (s *Family) sendElsewhere(ctx context.Context, refused error, envelope session.Envelope, in Mail) (session.Receipt, error) {
	var none session.Receipt
	if s.elsewhere == nil || !errors.As(refused, new(*session.NotOwnerError)) {
		return none, refused
	}
	if err := s.elsewhere(ctx, refused, Errand{Operation: Deliver, SessionID: in.To, Mail: in}); err != nil {
		return none, err
	}
	id, err := s.store.Address(ctx, in.To, &envelope)
	if err != nil {
		return none, err
	}
	return s.receipt(ctx, session.ReceiptQuery{ID: id})
}

// checkAddress checks that a session may write to another one.
func (s *Family) checkAddress(ctx context.Context, from string, in Mail) error {
	if in.To == from {
		return invalid("session", "A session cannot send mail to itself")
	}
	if in.ReplyTo != "" {
		_, err := s.receipt(ctx, session.ReceiptQuery{ID: in.ReplyTo, From: in.To, To: from})
		return err
	}
	return s.CheckOwn(ctx, from, in.To)
}

func (s *Family) receipt(ctx context.Context, of session.ReceiptQuery) (session.Receipt, error) {
	found, err := s.store.Receipts(ctx, of)
	if err == nil && len(found) == 0 {
		err = session.ErrNotFound
	}
	if err != nil {
		return session.Receipt{}, err
	}
	return found[0], nil
}

// Receipts lists the newest messages between sessions that the query selects; From and To may not both be "". The
// caller must own the session of From or To.
func (s *Family) Receipts(ctx context.Context, of session.ReceiptQuery) ([]session.Receipt, error) {
	if of.From == "" && of.To == "" {
		return nil, invalid("session", "Is missing")
	}
	for _, id := range []string{of.From, of.To} {
		if id != "" {
			if err := s.access.CheckSession(ctx, id); err != nil {
				return nil, err
			}
		}
	}
	return s.store.Receipts(ctx, of)
}
