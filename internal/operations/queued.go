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

// Queue keeps the messages that are queued behind the running turn of a session.
type Queue struct {
	access  *Access
	store   QueueStore
	uploads Pictures
}

// Waiting lists the messages that wait in a session, in the order they will be sent.
func (s *Queue) Waiting(ctx context.Context, sessionID string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Read, sessionID), func() ([]session.Waiting, error) {
		return s.store.Waiting(ctx, sessionID)
	})
}

// Wait has a message sent when the turns before it are over. *InvalidError as for Send, session.ErrWaitingFull.
func (s *Queue) Wait(ctx context.Context, sessionID string, message session.Message) (
	id string, now []session.Waiting, err error) {
	if err := s.access.Check(ctx, Send, sessionID); err != nil {
		return "", nil, err
	}
	if err := checkMessage(message); err != nil {
		return "", nil, err
	}
	if _, err := s.uploads.Load(ctx, sessionID, message.Images); err != nil {
		return "", nil, err // it waits with the names of its pictures
	}
	message.Model = named(message.Model)
	return s.store.Wait(ctx, sessionID, message)
}

// EditWaiting gives a waiting message another text. session.ErrWaitingNotFound, session.ErrWaitingSent.
func (s *Queue) EditWaiting(ctx context.Context, sessionID, id, text string) ([]session.Waiting, error) {
	if err := s.access.Check(ctx, Send, sessionID); err != nil {
		return nil, err
	}
	if err := checkText("text", text, 0); err != nil {
		return nil, err
	}
	return s.store.EditWaiting(ctx, sessionID, id, text)
}

// MoveWaiting puts a waiting message before another one, with "" behind all. Errors are those of EditWaiting.
func (s *Queue) MoveWaiting(ctx context.Context, sessionID, id, before string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.Waiting, error) {
		return s.store.MoveWaiting(ctx, sessionID, id, before)
	})
}

// SendWaiting sends a waiting message at once. Errors are those of EditWaiting, and of sending.
func (s *Queue) SendWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.Waiting, error) {
		return s.store.SendWaiting(ctx, sessionID, id)
	})
}

// DropWaiting takes a waiting message out. Errors are those of EditWaiting.
func (s *Queue) DropWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	return after(s.access.Check(ctx, Send, sessionID), func() ([]session.Waiting, error) {
		return s.store.DropWaiting(ctx, sessionID, id)
	})
}
