package operations

import (
	"context"

	"harness/internal/services/session"
)

// Waitings is what the operations need of messages that wait. *session.Service implements it.
type Waitings interface {
	Waiting(ctx context.Context, sessionID string) ([]session.Waiting, error)
	Wait(ctx context.Context, sessionID string, message session.Message) (id string, now []session.Waiting, err error)
	EditWaiting(ctx context.Context, sessionID, id, text string) ([]session.Waiting, error)
	MoveWaiting(ctx context.Context, sessionID, id, before string) ([]session.Waiting, error)
	SendWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error)
	DropWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error)
}

// Waiting lists the messages that wait in a session, in the order they will be sent.
func (s *Service) Waiting(ctx context.Context, sessionID string) ([]session.Waiting, error) {
	if err := s.Check(ctx, Read, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.Waiting(ctx, sessionID)
}

// Wait has a message sent when the turns before it are over. *InvalidError as for Send, session.ErrWaitingFull.
func (s *Service) Wait(ctx context.Context, sessionID string, message session.Message) (
	id string, now []session.Waiting, err error) {
	if err := s.Check(ctx, Send, sessionID); err != nil {
		return "", nil, err
	}
	if err := checkMessage(message); err != nil {
		return "", nil, err
	}
	if _, err := s.pictures(ctx, sessionID, message.Images); err != nil {
		return "", nil, err // it waits with the names of its pictures
	}
	message.Model = named(message.Model)
	return s.opts.Sessions.Wait(ctx, sessionID, message)
}

// EditWaiting gives a waiting message another text. session.ErrWaitingNotFound, session.ErrWaitingSent.
func (s *Service) EditWaiting(ctx context.Context, sessionID, id, text string) ([]session.Waiting, error) {
	if err := s.Check(ctx, Send, sessionID); err != nil {
		return nil, err
	}
	if err := checkText("text", text, 0); err != nil {
		return nil, err
	}
	return s.opts.Sessions.EditWaiting(ctx, sessionID, id, text)
}

// MoveWaiting puts a waiting message before another one, with "" behind all. Errors are those of EditWaiting.
func (s *Service) MoveWaiting(ctx context.Context, sessionID, id, before string) ([]session.Waiting, error) {
	if err := s.Check(ctx, Send, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.MoveWaiting(ctx, sessionID, id, before)
}

// SendWaiting sends a waiting message at once. Errors are those of EditWaiting, and of sending.
func (s *Service) SendWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	if err := s.Check(ctx, Send, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.SendWaiting(ctx, sessionID, id)
}

// DropWaiting takes a waiting message out. Errors are those of EditWaiting.
func (s *Service) DropWaiting(ctx context.Context, sessionID, id string) ([]session.Waiting, error) {
	if err := s.Check(ctx, Send, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.DropWaiting(ctx, sessionID, id)
}
