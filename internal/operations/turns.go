package operations

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/services/session"
)

// TurnStore has the methods of sessions that Turns needs.
type TurnStore interface {
	// Submit starts a turn with a message, steers it into the running one, or queues it behind that.
	Submit(ctx context.Context, sessionID string, message session.Message) (session.Sent, error)
	// Retry sends the input of a turn again, if it was interrupted before any tool ran; otherwise
	// *session.NotRetryableError.
	Retry(ctx context.Context, sessionID, turnID, key string) (newTurnID string, err error)
	// TurnForKey returns the turn that an earlier message with a key started (session.Message.Key).
	TurnForKey(ctx context.Context, sessionID, key string) (string, error)
	// StopTurn ends the running turn and, unless kept, the background work that it started; turnID "" means any.
	// ErrNoActiveTurn, ErrWrongTurn.
	StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error)
	// StopSession ends the running turn like StopTurn, makes the runtime release the session, and notifies its
	// followers.
	StopSession(ctx context.Context, sessionID string, keepBackground bool) (session.Stopped, error)
	// Background lists the background work of a session; EndBackground ends one of its tasks: runtime.ErrNoBackground.
	Background(ctx context.Context, sessionID string) ([]session.BackgroundTask, error)
	EndBackground(ctx context.Context, sessionID, id string) error
	// SteerTurn also calls the runtime for a session that is not stored here.
	SteerTurn(ctx context.Context, sessionID, turnID, text string) error
}

// Turns starts and ends turns, and the background work that they leave.
type Turns struct {
	access  *Access
	store   TurnStore
	uploads Pictures
	family  *Family
}

// Send starts a turn with a message, or steers it into the running one. If the runtime cannot steer, the message is
// queued behind the running turn. *InvalidError for missing text and invalid images; session.ErrQueueFull.
func (s *Turns) Send(ctx context.Context, sessionID string, message session.Message) (sent session.Sent, err error) {
	if err := s.access.Check(ctx, Send, sessionID); err != nil {
		return sent, err
	}
	if err := checkMessage(message); err != nil {
		return sent, err
	}
	message.Names = message.Images
	if message.Images, err = s.uploads.Load(ctx, sessionID, message.Images); err != nil {
		return sent, err
	}
	message.Model = named(message.Model)
	return s.store.Submit(ctx, sessionID, message)
}

// Retry retries the last turn of a session if it was interrupted, and returns the id of the new one. key identifies
// the request like session.Message.Key. *session.NotRetryableError.
func (s *Turns) Retry(ctx context.Context, sessionID, turnID, key string) (string, error) {
	return after(s.access.Check(ctx, Retry, sessionID), func() (string, error) {
		return s.store.Retry(ctx, sessionID, turnID, key)
	})
}

// TurnForKey returns the result of an earlier message with a key: the id of the turn it started, or of the queued
// message, "" for none. Call it before a repeated send. session.ErrTurnUnknown if this cannot be determined,
// runtime.ErrUnavailable if it cannot be determined yet.
func (s *Turns) TurnForKey(ctx context.Context, sessionID, key string) (string, error) {
	return after(s.access.Check(ctx, Read, sessionID), func() (string, error) {
		return s.store.TurnForKey(ctx, sessionID, key)
	})
}

// Interrupt ends the running turn with the background work it started, any turn for turnID "", and returns its id. It
// also ends the turns of all sessions below (Family).
// session.ErrNoActiveTurn, session.ErrWrongTurn.
func (s *Turns) Interrupt(ctx context.Context, sessionID, turnID string) (interrupted string, err error) {
	stopped, err := s.StopTurn(ctx, sessionID, turnID, false)
	return stopped.TurnID, err
}

// StopTurn is Interrupt, but also returns which background work it ended and which continues. With keepBackground it
// ends none.
func (s *Turns) StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error) {
	_, found, err := s.access.find(ctx, Interrupt, sessionID)
	if err != nil {
		return session.Stopped{}, err
	}
	if !found {
		return session.Stopped{}, session.ErrNoActiveTurn // nothing runs in an unknown session
	}
	stopped, err := s.store.StopTurn(ctx, sessionID, turnID, keepBackground)
	if errors.Is(err, session.ErrNotFound) {
		err = session.ErrNoActiveTurn // it was deleted in the meantime
	}
	if turnID == "" || !errors.Is(err, session.ErrWrongTurn) {
		err = errors.Join(err, s.InterruptBelow(ctx, sessionID))
	}
	return stopped, err
}

// Background returns the background work of a session as its runtime reports it now.
func (s *Turns) Background(ctx context.Context, sessionID string) ([]session.BackgroundTask, error) {
	return after(s.access.Check(ctx, ReadBackground, sessionID), func() ([]session.BackgroundTask, error) {
		return s.store.Background(ctx, sessionID)
	})
}

// EndBackground ends one background task of a session and returns what still runs. runtime.ErrNoBackground,
// *runtime.UnsupportedError.
func (s *Turns) EndBackground(ctx context.Context, sessionID, id string) ([]session.BackgroundTask, error) {
	if err := s.access.Check(ctx, EndBackground, sessionID); err != nil {
		return nil, err
	}
	if err := s.store.EndBackground(ctx, sessionID, id); err != nil {
		return nil, err
	}
	return s.store.Background(ctx, sessionID)
}

// Steer adds a text to a running turn. The runtime's refusal is returned unchanged.
func (s *Turns) Steer(ctx context.Context, sessionID, turnID, text string) error {
	if err := s.access.Check(ctx, Steer, sessionID); err != nil {
		return err
	}
	if err := checkText("input", text, 0); err != nil {
		return err
	}
	return s.store.SteerTurn(ctx, sessionID, turnID, text)
}

// Stop ends the running turn of a session, if any, and the background work it started unless that is kept. It releases
// the runtime's resources of the session and notifies its followers. The next message reloads the session. It returns
// which background work ended and which continues.
func (s *Turns) Stop(ctx context.Context, sessionID string, keepBackground bool) (session.Stopped, error) {
	return after(s.access.Check(ctx, Interrupt, sessionID), func() (session.Stopped, error) {
		stopped, err := s.store.StopSession(ctx, sessionID, keepBackground)
		return stopped, errors.Join(err, s.InterruptBelow(ctx, sessionID))
	})
}

// InterruptBelow ends the running turns of the sessions below a session, each at its node.
func (s *Turns) InterruptBelow(ctx context.Context, sessionID string) error {
	below, err := s.family.Descendants(ctx, sessionID)
	for _, one := range below {
		_, failed := s.store.StopTurn(ctx, one.SessionID, "", false)
		failed = s.family.atItsNode(ctx, failed, Errand{Operation: Interrupt, SessionID: one.SessionID})
		idle := errors.Is(failed, session.ErrNoActiveTurn) || session.Absent(failed)
		if failed != nil && !idle {
			err = errors.Join(err, fmt.Errorf("interrupt session %s below session %s: %w", one.SessionID, sessionID, failed))
		}
	}
	return err
}
