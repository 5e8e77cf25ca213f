package operations

import (
	"context"

	"harness/internal/platform/database"
	"harness/queue/jobs"
)

// SuggestionWish is what a client wants suggested: a model and effort, "" for the default ones, and a draft to go on
// from.
type SuggestionWish struct {
	Model         *string
	Effort, Draft string
}

// CanSuggest tells whether anybody makes suggestions.
func (s *Service) CanSuggest() bool { return s.opts.Suggester != nil }

// Suggest queues a suggestion of what to ask next in a session; SuggestAndWait waits for it as well. ErrQueueOff,
// *queue.Error.
func (s *Service) Suggest(ctx context.Context, sessionID string, wish SuggestionWish) (jobs.Suggested, error) {
	payload, err := s.suggestion(ctx, sessionID, wish)
	if err != nil {
		return jobs.Suggested{}, err
	}
	return s.opts.Suggester.Request(ctx, payload)
}

// SuggestAndWait is Suggest for who waits for the suggestion, as long as a client may be kept waiting.
func (s *Service) SuggestAndWait(ctx context.Context, sessionID string, wish SuggestionWish) (jobs.Suggested, error) {
	payload, err := s.suggestion(ctx, sessionID, wish)
	if err != nil {
		return jobs.Suggested{}, err
	}
	return s.opts.Suggester.RequestAndWait(ctx, payload)
}

func (s *Service) suggestion(ctx context.Context, sessionID string, wish SuggestionWish) (jobs.SuggestPayload, error) {
	found, _, err := s.find(ctx, Suggest, sessionID)
	if err != nil {
		return jobs.SuggestPayload{}, err
	}
	if s.opts.Suggester == nil {
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

// StoreSuggestion stores a suggestion that somebody made, and returns what is stored then. ErrMissingSuggestion,
// ErrQueueOff.
func (s *Service) StoreSuggestion(ctx context.Context, sessionID, requestKey string, next jobs.Suggestion) (
	jobs.Suggestion, error) {
	if err := s.Check(ctx, StoreSuggested, sessionID); err != nil {
		return jobs.Suggestion{}, err
	}
	if s.opts.Suggestions == nil {
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
	return s.opts.Suggestions.Upsert(ctx, sessionID, requestKey, next)
}
