package operations

import (
	"context"

	"harness/internal/services/session"
)

// QueueStore has the methods of sessions that Queue needs.
type QueueStore interface {
	Queued(ctx context.Context, sessionID string) ([]session.QueuedMessage, error)
	Wait(ctx context.Context, sessionID string, message session.Message) (id string, now []session.QueuedMessage, err error)
	EditQueued(ctx context.Context, sessionID, id, text string) ([]session.QueuedMessage, error)
	MoveQueued(ctx context.Context, sessionID, id, before string) ([]session.QueuedMessage, error)
	SendNow(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error)
	DropQueued(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error)
}

// Queue manages the messages that are queued behind the running turn of a session.
type Queue struct {
	access  *Access
	store   QueueStore
	uploads Pictures
}

// Queued lists the queued messages of a session, in the order in which they are sent.
func (s *Queue) Queued(ctx context.Context, sessionID string) ([]session.QueuedMessage, error) {
	return after(s.access.Check(ctx, Read, sessionID), func() ([]session.QueuedMessage, error) {
		return s.store.Queued(ctx, sessionID)
	})
}

// Enqueue queues a message until the turns before it end. *InvalidError as for Send, session.ErrQueueFull.
func (s *Queue) Enqueue(ctx context.Context, sessionID string, message session.Message) (
	id string, now []session.QueuedMessage, err error) {
	if err := s.access.Check(ctx, Send, sessionID); err != nil {
		return "", nil, err
	}
	if err := checkMessage(message); err != nil {
		return "", nil, err
	}
	if _, err := s.uploads.Load(ctx, sessionID, message.Images); err != nil {
		return "", nil, err // the queued message names its pictures
	}
	message.Model = named(message.Model)
	return s.store.Wait(ctx, sessionID, message)
}

// EditQueued changes the text of a queued message. session.ErrQueuedNotFound, session.ErrQueuedSent.
func (s *Queue) EditQueued(ctx context.Context, sessionID, id, text string) ([]session.QueuedMessage, error) {
	if err := s.access.Check(ctx, Send, sessionID); err != nil {
		return nil, err
	}
	if err := checkText("text", text, 0); err != nil {
		return nil, err
	}
	return s.store.EditQueued(ctx, sessionID, id, text)
}

// MoveQueued moves a queued message before another one, or to the end for "". Errors are those of EditQueued.
func (s *Queue) MoveQueued(ctx context.Context, sessionID, id, before string) ([]session.QueuedMessage, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.QueuedMessage, error) {
		return s.store.MoveQueued(ctx, sessionID, id, before)
	})
}

// SendQueued sends a queued message now. Errors are those of EditQueued, and of sending.
func (s *Queue) SendQueued(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.QueuedMessage, error) {
		return s.store.SendNow(ctx, sessionID, id)
	})
}

// DropQueued removes a queued message. Errors are those of EditQueued.
func (s *Queue) DropQueued(ctx context.Context, sessionID, id string) ([]session.QueuedMessage, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.QueuedMessage, error) {
		return s.store.DropQueued(ctx, sessionID, id)
	})
}
