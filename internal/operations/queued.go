package operations

import (
	"context"

	"harness/internal/services/session"
)

// QueueStore is what Queue needs of sessions.
type QueueStore interface {
	Waiting(ctx context.Context, sessionID string) ([]session.Waiting, error)
	Wait(ctx context.Context, sessionID string, message session.Message) (id string, now []session.Waiting, err error)
	EditWaiting(ctx context.Context, sessionID, id, text string) ([]session.Waiting, error)
	MoveWaiting(ctx context.Context, sessionID, id, before string) ([]session.Waiting, error)
	SendWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error)
	DropWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error)
}

// Queue manages the messages that are queued behind the running turn of a session.
type Queue struct {
	access  *Access
	store   QueueStore
	uploads Pictures
}

// Queued lists the queued messages of a session, in the order in which they are sent.
func (s *Queue) Queued(ctx context.Context, sessionID string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Read, sessionID), func() ([]session.Waiting, error) {
		return s.store.Waiting(ctx, sessionID)
	})
}

// Enqueue queues a message until the turns before it end. *InvalidError as for Send, session.ErrWaitingFull.
func (s *Queue) Enqueue(ctx context.Context, sessionID string, message session.Message) (
	id string, now []session.Waiting, err error) {
	if err := s.access.Check(ctx, Send, sessionID); err != nil {
		return "", nil, err
	}
	if err := checkMessage(message); err != nil {
		return "", nil, err
	}
	if _, err := s.uploads.Load(ctx, sessionID, message.Images); err != nil {
		return "", nil, err // it is queued with the names of its pictures
	}
	message.Model = named(message.Model)
	return s.store.Wait(ctx, sessionID, message)
}

// EditQueued changes the text of a queued message. session.ErrWaitingNotFound, session.ErrWaitingSent.
func (s *Queue) EditQueued(ctx context.Context, sessionID, id, text string) ([]session.Waiting, error) {
	if err := s.access.Check(ctx, Send, sessionID); err != nil {
		return nil, err
	}
	if err := checkText("text", text, 0); err != nil {
		return nil, err
	}
	return s.store.EditWaiting(ctx, sessionID, id, text)
}

// MoveQueued moves a queued message before another one, with "" to the end. Errors are those of EditQueued.
func (s *Queue) MoveQueued(ctx context.Context, sessionID, id, before string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.Waiting, error) {
		return s.store.MoveWaiting(ctx, sessionID, id, before)
	})
}

// SendQueued sends a queued message now. Errors are those of EditQueued, and of sending.
func (s *Queue) SendQueued(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.Waiting, error) {
		return s.store.SendWaiting(ctx, sessionID, id)
	})
}

// DropQueued removes a queued message. Errors are those of EditQueued.
func (s *Queue) DropQueued(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.Waiting, error) {
		return s.store.DropWaiting(ctx, sessionID, id)
	})
}
