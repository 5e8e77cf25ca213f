package operations

import (
	"context"

	"harness/internal/platform/database"
	"harness/queue/jobs"
)

// SuggestionStore stores suggested requests. *jobs.Suggestions implements it, also with a disabled queue.
type SuggestionStore interface {
	// Upsert stores a suggestion and publishes it, and returns the stored one.
	Upsert(ctx context.Context, sessionID, requestKey string, next jobs.Suggestion) (jobs.Suggestion, error)
}

// Suggester requests suggestions. *jobs.Suggester implements it.
type Suggester interface {
	// Request queues a suggestion; RequestAndWait also waits for it, up to the limit for clients. *queue.Error.
	Request(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
	RequestAndWait(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
}

// Suggestions requests and stores suggested requests.
type Suggestions struct {
	access    *Access
	store     SuggestionStore
	suggester Suggester
}

// SuggestionWish describes a requested suggestion: a model and effort, "" for the default ones, and an initial draft.
type SuggestionWish struct {
	Model         *string
	Effort, Draft string
}

// CanSuggest reports whether suggestions are available.
func (s *Suggestions) CanSuggest() bool { return s.suggester != nil }

// Suggest queues a suggestion of the next message in a session. ErrQueueOff, *queue.Error.
func (s *Suggestions) Suggest(ctx context.Context, sessionID string, wish SuggestionWish) (jobs.Suggested, error) {
	payload, err := s.suggestion(ctx, sessionID, wish)
	if err != nil {
		return jobs.Suggested{}, err
	}
	return s.suggester.Request(ctx, payload)
}

// SuggestAndWait is Suggest, but waits for the suggestion, up to the limit for clients.
func (s *Suggestions) SuggestAndWait(ctx context.Context, sessionID string, wish SuggestionWish) (jobs.Suggested, error) {
	payload, err := s.suggestion(ctx, sessionID, wish)
	if err != nil {
		return jobs.Suggested{}, err
	}
	return s.suggester.RequestAndWait(ctx, payload)
}

func (s *Suggestions) suggestion(ctx context.Context, sessionID string, wish SuggestionWish) (jobs.SuggestPayload, error) {
	found, _, err := s.access.find(ctx, Suggest, sessionID)
	if err != nil {
		return jobs.SuggestPayload{}, err
	}
	if s.suggester == nil {
		return jobs.SuggestPayload{}, ErrQueueOff
	}
	var p problems
	if p.most("draft", wish.Draft, MaxDraft); p != nil {
		return jobs.SuggestPayload{}, p.err()
	}
	payload := jobs.SuggestPayload{ProjectID: found.Owner(), SourceSessionID: sessionID, Effort: wish.Effort,
		Draft: wish.Draft}
	if model := named(wish.Model); model != nil {
		payload.Model = *model
	}
	return payload, nil
}

// StoreSuggestion stores a client's suggestion, and returns the stored one. ErrMissingSuggestion, ErrQueueOff.
func (s *Suggestions) StoreSuggestion(ctx context.Context, sessionID, requestKey string, next jobs.Suggestion) (
	jobs.Suggestion, error) {
	if err := s.access.Check(ctx, StoreSuggested, sessionID); err != nil {
		return jobs.Suggestion{}, err
	}
	if s.store == nil {
		return jobs.Suggestion{}, ErrQueueOff
	}
	var p problems
	p.text("requestKey", requestKey, database.MaxKey)
	p.most("suggestion", next.Suggestion, MaxSuggestion)
	p.most("error", next.Error, MaxSuggestionError)
	if err := p.err(); err != nil {
		return jobs.Suggestion{}, err
	}
	if next.Status == jobs.SuggestionComplete && next.Suggestion == "" {
		return jobs.Suggestion{}, ErrMissingSuggestion
	}
	return s.store.Upsert(ctx, sessionID, requestKey, next)
}
