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

// ThreadStore has the methods of sessions that Threads needs. It also calls the runtime for a session that is not
// stored here.
type ThreadStore interface {
	Fork(ctx context.Context, sessionID string) (session.Forked, error)
	Compact(ctx context.Context, sessionID string) (json.RawMessage, error)
	CleanTerminals(ctx context.Context, sessionID string) (json.RawMessage, error)
	Review(ctx context.Context, sessionID string, review runtime.Review) (json.RawMessage, error)
	// RollBack removes the last turns and returns the runtime's response; *runtime.TooFewTurnsError.
	RollBack(ctx context.Context, sessionID string, numTurns int) (json.RawMessage, error)
	AssignProject(ctx context.Context, sessionID string, projectID *string) (session.Session, error)
}

// Threads acts on the conversation of a session in its runtime.
type Threads struct {
	access *Access
	store  ThreadStore
}

// Fork creates a session that continues the history of another one.
func (s *Threads) Fork(ctx context.Context, sessionID string) (session.Forked, error) {
	if err := s.access.Check(ctx, Fork, sessionID); err != nil {
		return session.Forked{}, err
	}
	forked, err := s.store.Fork(ctx, sessionID)
	limit := auth.ProjectsFrom(ctx)
	if err != nil || limit == nil {
		return forked, err
	}
	// Assign the fork to the caller's project, where the caller can find it.
	projects, err := s.access.lookups.ProjectsOf(ctx, sessionID)
	if project := projects[sessionID]; err == nil && limit.Has(project) {
		_, err = s.store.AssignProject(ctx, forked.Session.ID, &project)
	}
	return forked, err
}

// Compact makes the runtime compact the context of a session, and returns its response.
func (s *Threads) Compact(ctx context.Context, sessionID string) (json.RawMessage, error) {
	return after(s.access.Check(ctx, Compact, sessionID), func() (json.RawMessage, error) {
		return s.store.Compact(ctx, sessionID)
	})
}

// CleanTerminals ends the programs that a session's turns left running, and returns the runtime's response.
func (s *Threads) CleanTerminals(ctx context.Context, sessionID string) (json.RawMessage, error) {
	return after(s.access.Check(ctx, CleanTerminals, sessionID), func() (json.RawMessage, error) {
		return s.store.CleanTerminals(ctx, sessionID)
	})
}

// RollBack removes the last turns of a session, also from its transcript, and returns the runtime's response.
// *InvalidError when it has fewer turns. It is refused while a turn runs.
func (s *Threads) RollBack(ctx context.Context, sessionID string, numTurns int64) (json.RawMessage, error) {
	if err := s.access.Check(ctx, RollBack, sessionID); err != nil {
		return nil, err
	}
	result, err := s.store.RollBack(ctx, sessionID, int(min(numTurns, math.MaxInt32)))
	var tooFew *runtime.TooFewTurnsError
	if errors.As(err, &tooFew) {
		return nil, invalid("numTurns", tooFew.Error())
	}
	return result, err
}

// ReviewRequest describes a requested review; nil parts were not given.
type ReviewRequest struct {
	// Delivery is inline or detached, "" for the runtime's choice; Target one of runtime's review targets, "" for
	// ReviewCustom.
	Delivery, Target                 string
	Branch, SHA, Title, Instructions *string
}

// defaultReview is the default subject of a review.
const defaultReview = "Review this thread's current changes."

// review returns the request for a runtime. *InvalidError for parts of another target.
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
				Message: "Requires targetType " + part.target + " only; this review is of " + review.Target})
		default:
			*part.into = *part.given
		}
	}
	if problems != nil {
		return runtime.Review{}, &InvalidError{problems}
	}
	return review, nil
}

// Review starts a review in a session and returns the runtime's response.
func (s *Threads) Review(ctx context.Context, sessionID string, in ReviewRequest) (json.RawMessage, error) {
	if err := s.access.Check(ctx, Review, sessionID); err != nil {
		return nil, err
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	review, err := in.review()
	if err != nil {
		return nil, err
	}
	return s.store.Review(ctx, sessionID, review)
}
