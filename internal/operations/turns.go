package operations

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"harness/internal/platform/auth"
	"harness/internal/runtime"
	"harness/internal/services/session"
)

// Send starts a turn with a message, or steers it into the running one. Where the runtime cannot steer, the message is
// queued behind the running turn. *InvalidError for no text, and for images that are none; session.ErrWaitingFull.
func (s *Service) Send(ctx context.Context, sessionID string, message session.Message) (sent session.Submitted, err error) {
	if err := s.Check(ctx, Send, sessionID); err != nil {
		return sent, err
	}
	if err := checkMessage(message); err != nil {
		return sent, err
	}
	message.Names = message.Images
	if message.Images, err = s.pictures(ctx, sessionID, message.Images); err != nil {
		return sent, err
	}
	message.Model = named(message.Model)
	return s.opts.Sessions.Submit(ctx, sessionID, message)
}

// Retry tries a session's last turn again, one that was cut off before any tool ran, and returns the id of the new one.
// key names the request as session.Message.Key does. *session.NotRetryableError.
func (s *Service) Retry(ctx context.Context, sessionID, turnID, key string) (string, error) {
	if err := s.Check(ctx, Retry, sessionID); err != nil {
		return "", err
	}
	return s.opts.Sessions.Retry(ctx, sessionID, turnID, key)
}

// Made is what a message with a key made that came before, the turn or the id it waits by, "" for nothing; it is asked
// before that is sent again. session.ErrTurnUnknown when it cannot be told, runtime.ErrUnavailable while it cannot yet.
func (s *Service) Made(ctx context.Context, sessionID, key string) (string, error) {
	if err := s.Check(ctx, Read, sessionID); err != nil {
		return "", err
	}
	return s.opts.Sessions.Made(ctx, sessionID, key)
}

// Interrupt ends the running turn with the background work that it began, whichever it is for turnID "", and returns its
// id. session.ErrNoActiveTurn, session.ErrWrongTurn.
func (s *Service) Interrupt(ctx context.Context, sessionID, turnID string) (interrupted string, err error) {
	stopped, err := s.StopTurn(ctx, sessionID, turnID, false)
	return stopped.TurnID, err
}

// StopTurn is Interrupt that says which background work it ended and which goes on. With keepBackground it ends none.
func (s *Service) StopTurn(ctx context.Context, sessionID, turnID string, keepBackground bool) (session.Stopped, error) {
	_, found, err := s.find(ctx, Interrupt, sessionID)
	if err != nil {
		return session.Stopped{}, err
	}
	if !found {
		return session.Stopped{}, session.ErrNoActiveTurn // nothing runs in an unknown session
	}
	stopped, err := s.opts.Sessions.StopTurn(ctx, sessionID, turnID, keepBackground)
	if errors.Is(err, session.ErrNotFound) {
		err = session.ErrNoActiveTurn // it went away meanwhile
	}
	return stopped, err
}

// Background lists the background work of a session as its runtime has it now.
func (s *Service) Background(ctx context.Context, sessionID string) ([]session.BackgroundTask, error) {
	if err := s.Check(ctx, ReadBackground, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.Background(ctx, sessionID)
}

// EndBackground ends one background task of a session and returns what still runs. runtime.ErrNoBackground,
// *runtime.UnsupportedError.
func (s *Service) EndBackground(ctx context.Context, sessionID, id string) ([]session.BackgroundTask, error) {
	if err := s.Check(ctx, EndBackground, sessionID); err != nil {
		return nil, err
	}
	if err := s.opts.Sessions.EndBackground(ctx, sessionID, id); err != nil {
		return nil, err
	}
	return s.opts.Sessions.Background(ctx, sessionID)
}

// Steer adds a text to a running turn. The runtime's refusal is returned as it is.
func (s *Service) Steer(ctx context.Context, sessionID, turnID, text string) error {
	if err := s.Check(ctx, Steer, sessionID); err != nil {
		return err
	}
	if err := checkText("input", text, 0); err != nil {
		return err
	}
	return s.opts.Sessions.SteerTurn(ctx, sessionID, turnID, text)
}

// Fork makes a session that goes on from the history of another one.
func (s *Service) Fork(ctx context.Context, sessionID string) (session.Forked, error) {
	if err := s.Check(ctx, Fork, sessionID); err != nil {
		return session.Forked{}, err
	}
	forked, err := s.opts.Sessions.Fork(ctx, sessionID)
	limit := auth.ProjectsFrom(ctx)
	if err != nil || limit == nil {
		return forked, err
	}
	// It stays where who asked finds it again.
	projects, err := s.opts.Sessions.ProjectsOf(ctx, sessionID)
	if project := projects[sessionID]; err == nil && limit.Has(project) {
		_, err = s.opts.Sessions.AssignProject(ctx, forked.Session.ID, &project)
	}
	return forked, err
}

// Compact has the runtime shorten what it remembers of a session, and returns its answer.
func (s *Service) Compact(ctx context.Context, sessionID string) (json.RawMessage, error) {
	if err := s.Check(ctx, Compact, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.Compact(ctx, sessionID)
}

// CleanTerminals ends the programs a session's turns left running, and returns the runtime's answer.
func (s *Service) CleanTerminals(ctx context.Context, sessionID string) (json.RawMessage, error) {
	if err := s.Check(ctx, CleanTerminals, sessionID); err != nil {
		return nil, err
	}
	return s.opts.Sessions.CleanTerminals(ctx, sessionID)
}

// RollBack takes back the last turns of a session, also from its transcript, and returns the runtime's answer.
// *InvalidError when it has fewer turns. While a turn runs it is refused.
func (s *Service) RollBack(ctx context.Context, sessionID string, numTurns int64) (json.RawMessage, error) {
	if err := s.Check(ctx, RollBack, sessionID); err != nil {
		return nil, err
	}
	result, err := s.opts.Sessions.RollBack(ctx, sessionID, int(min(numTurns, math.MaxInt32)))
	var tooFew *runtime.TooFewTurnsError
	if errors.As(err, &tooFew) {
		return nil, invalid("numTurns", tooFew.Error())
	}
	return result, err
}

// ReviewRequest says what a client wants reviewed; nil parts were not given.
type ReviewRequest struct {
	// Delivery is inline or detached, "" for the runtime's choice; Target one of runtime's targets of a review, "" for
	// ReviewCustom.
	Delivery, Target                 string
	Branch, SHA, Title, Instructions *string
}

// defaultReview is what a client that names nothing gets reviewed.
const defaultReview = "Review this thread's current changes."

// review is the request as a runtime gets it. *InvalidError for parts that go with another target.
func (r ReviewRequest) review() (runtime.Review, error) {
	review := runtime.Review{Delivery: r.Delivery, Target: r.Target}
	if review.Target == "" {
		review.Target = runtime.ReviewCustom
	}
	if review.Target == runtime.ReviewCustom {
		review.Instructions = defaultReview
	}
	var problems []Problem
	for _, part := range []struct {
		name, target string
		given, into  *string
	}{
		{"branch", runtime.ReviewBranch, r.Branch, &review.Branch}, {"sha", runtime.ReviewCommit, r.SHA, &review.SHA},
		{"title", runtime.ReviewCommit, r.Title, &review.Title},
		{"instructions", runtime.ReviewCustom, r.Instructions, &review.Instructions},
	} {
		switch {
		case part.given == nil:
		case part.target != review.Target:
			problems = append(problems, Problem{Field: part.name, Index: -1,
				Message: "Goes with targetType " + part.target + " only; this review is of " + review.Target})
		default:
			*part.into = *part.given
		}
	}
	if problems != nil {
		return runtime.Review{}, &InvalidError{problems}
	}
	return review, nil
}

// Review begins a review in a session and returns the runtime's answer.
func (s *Service) Review(ctx context.Context, sessionID string, in ReviewRequest) (json.RawMessage, error) {
	if err := s.Check(ctx, Review, sessionID); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	review, err := in.review()
	if err != nil {
		return nil, err
	}
	return s.opts.Sessions.Review(ctx, sessionID, review)
}
