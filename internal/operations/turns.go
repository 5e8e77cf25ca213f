package operations

import (
	"context"
	"errors"

	"harness/internal/services/session"
)

// TurnStore is what Turns needs of sessions.
type TurnStore interface {
	// Submit starts a turn with a message, steers it into the running one, or queues it behind that.
	Submit(ctx context.Context, sessionID string, message session.Message) (session.Sent, error)
	// Retry sends what a turn was asked once more, if that was cut off before any tool ran: *session.NotRetryableError
	// otherwise.
	Retry(ctx context.Context, sessionID, turnID, key string) (newTurnID string, err error)
	// Made is what an earlier message with a key made (session.Message.Key).
	Made(ctx context.Context, sessionID, key string) (string, error)
	// StopTurn ends the running turn and, unless it is to be kept, the background work which that began; turnID "" means
	// whichever runs. ErrNoActiveTurn, ErrWrongTurn.
	StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error)
	// StopSession ends the running turn as StopTurn does, has the runtime release what it keeps of the session, and
	// notifies everyone who follows it.
	StopSession(ctx context.Context, sessionID string, keepBackground bool) (session.Stopped, error)
	// Background lists the background work of a session, EndBackground ends a task of it: runtime.ErrNoBackground.
	Background(ctx context.Context, sessionID string) ([]session.BackgroundTask, error)
	EndBackground(ctx context.Context, sessionID, id string) error
	// SteerTurn asks the runtime also about a session that is not stored here.
	SteerTurn(ctx context.Context, sessionID, turnID, text string) error
}

// Turns begins and ends turns, and the background work that they leave.
type Turns struct {
	access  *Access
	store   TurnStore
	uploads Pictures
}

// Send starts a turn with a message, or steers it into the running one. Where the runtime cannot steer, the message is
// queued behind the running turn. *InvalidError for no text, and for images that are none; session.ErrWaitingFull.
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

// Retry tries a session's last turn again, one that was cut off before any tool ran, and returns the id of the new one.
// key names the request as session.Message.Key does. *session.NotRetryableError.
func (s *Turns) Retry(ctx context.Context, sessionID, turnID, key string) (string, error) {
	return after(s.access.Check(ctx, Retry, sessionID), func() (string, error) {
		return s.store.Retry(ctx, sessionID, turnID, key)
	})
}

// TurnForKey is what an earlier message with a key made, the turn or the id it waits by, "" for nothing; it is asked
// before that is sent again. session.ErrTurnUnknown when it cannot be known, runtime.ErrUnavailable while it is not known yet.
func (s *Turns) TurnForKey(ctx context.Context, sessionID, key string) (string, error) {
	return after(s.access.Check(ctx, Read, sessionID), func() (string, error) {
		return s.store.Made(ctx, sessionID, key)
	})
}

// Interrupt ends the running turn with the background work that it began, whichever it is for turnID "", and returns its
// id. session.ErrNoActiveTurn, session.ErrWrongTurn.
func (s *Turns) Interrupt(ctx context.Context, sessionID, turnID string) (interrupted string, err error) {
	stopped, err := s.StopTurn(ctx, sessionID, turnID, false)
	return stopped.TurnID, err
}

// StopTurn is Interrupt that says which background work it ended and which goes on. With keepBackground it ends none.
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
		err = session.ErrNoActiveTurn // it went away meanwhile
	}
	return stopped, err
}

// Background lists the background work of a session as its runtime has it now.
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

// Steer adds a text to a running turn. The runtime's refusal is returned as it is.
func (s *Turns) Steer(ctx context.Context, sessionID, turnID, text string) error {
	if err := s.access.Check(ctx, Steer, sessionID); err != nil {
		return err
	}
	if err := checkText("input", text, 0); err != nil {
		return err
	}
	return s.store.SteerTurn(ctx, sessionID, turnID, text)
}

// Stop ends what a session is doing, if anything, with the background work that its turn began unless that is to be kept;
// it releases what its runtime keeps of the session, and notifies its followers. The next message loads it
// again. It says which background work it ended and which goes on.
func (s *Turns) Stop(ctx context.Context, sessionID string, keepBackground bool) (session.Stopped, error) {
	return after(s.access.Check(ctx, Interrupt, sessionID), func() (session.Stopped, error) {
		return s.store.StopSession(ctx, sessionID, keepBackground)
	})
}
