package operations

import (
	"context"

	"harness/internal/platform/database"
	"harness/queue/jobs"
)

// SuggestionStore keeps suggested requests. *jobs.Suggestions implements it; it works with the queue switched off too.
type SuggestionStore interface {
	// Upsert stores a suggestion and announces it, and returns what is stored then.
	Upsert(ctx context.Context, sessionID, requestKey string, next jobs.Suggestion) (jobs.Suggestion, error)
}

// Suggester has suggested requests made. *jobs.Suggester implements it.
type Suggester interface {
	// Request queues a suggestion; RequestAndWait waits for it as well, as long as a client may be kept waiting.
	// *queue.Error.
	Request(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
	RequestAndWait(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
}

// Suggestions makes and stores suggested requests.
type Suggestions struct {
	access    *Access
	store     SuggestionStore
	suggester Suggester
}

// SuggestionWish is what a client wants suggested: a model and effort, "" for the default ones, and a draft to go on
// from.
type SuggestionWish struct {
	Model         *string
	Effort, Draft string
}

// CanSuggest tells whether anybody makes suggestions.
func (s *Suggestions) CanSuggest() bool { return s.suggester != nil }

// Suggest queues a suggestion of what to ask next in a session; SuggestAndWait waits for it as well. ErrQueueOff,
// *queue.Error.
func (s *Suggestions) Suggest(ctx context.Context, sessionID string, wish SuggestionWish) (jobs.Suggested, error) {
	payload, err := s.suggestion(ctx, sessionID, wish)
	if err != nil {
		return jobs.Suggested{}, err
	}
	return s.suggester.Request(ctx, payload)
}

// SuggestAndWait is Suggest for who waits for the suggestion, as long as a client may be kept waiting.
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

// StoreSuggestion stores a suggestion that somebody made, and returns what is stored then. ErrMissingSuggestion,
// ErrQueueOff.
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
