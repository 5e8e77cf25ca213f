package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"harness/queue"
)

// Queue is the part of the job queue that suggestions use. *queue.Queue implements it.
type Queue interface {
	Enqueue(ctx context.Context, in queue.Request) (queue.EnqueueResult, error)
	Job(ctx context.Context, id string) (queue.Job, error)
}

// Suggested is the state of a requested suggestion.
type Suggested struct {
	// Status is queued, ok (a worker's text) or fallback (the deterministic one).
	Status     string
	JobID      string
	RequestKey string
	ProjectID  string
	Dedupe     queue.EnqueueStatus
	Suggestion string
}

// Suggester accepts requests for suggestions. Make it with NewSuggester.
type Suggester struct {
	*Suggestions
	queue Queue
	wait  time.Duration
}

// NewSuggester makes the Suggester of the suggested-request routes.
func NewSuggester(suggestions *Suggestions, q Queue, wait time.Duration) *Suggester {
	return &Suggester{Suggestions: suggestions, queue: q, wait: wait}
}

// Request queues a suggestion for a session. If a job for one is already open, Request returns the key and job of that
// one. codex-manager returned a key that no event ever contained.
func (s *Suggester) Request(ctx context.Context, in SuggestPayload) (Suggested, error) {
	in.RequestKey = uuid.NewString()
	key := suggestKey(in.SourceSessionID)
	outcome, err := s.queue.Enqueue(ctx, queue.Request{Type: TypeSuggestRequest, ProjectID: in.ProjectID,
		SourceSessionID: &in.SourceSessionID, DedupeKey: &key, Payload: encode(in)})
	if err != nil {
		return Suggested{}, err
	}
	var stored SuggestPayload
	if err := json.Unmarshal(outcome.Job.Payload, &stored); err != nil {
		return Suggested{}, fmt.Errorf("read the payload of job %s: %w", outcome.Job.ID, err)
	}
	return Suggested{Status: string(queue.Queued), JobID: outcome.Job.ID, RequestKey: stored.RequestKey,
		ProjectID: in.ProjectID, Dedupe: outcome.Status}, nil
}

// RequestAndWait is Request, but also waits for the suggestion; after the deadline it returns "queued".
func (s *Suggester) RequestAndWait(ctx context.Context, in SuggestPayload) (Suggested, error) {
	out, err := s.Request(ctx, in)
	if err != nil {
		return Suggested{}, err
	}
	return s.Await(ctx, in, out)
}

// settleSlack is the extra time that a job at its deadline gets to write its fallback before its caller gets "queued".
const settleSlack = time.Second

// suggestionPoll is the interval at which the store is polled for missed notifications.
const suggestionPoll = time.Second

// Await waits until a suggestion of a job is stored: by the job, its worker, or an extension through the upsert route.
// If a job of any type ended without a suggestion, Await returns the fallback. After the deadline it returns the
// current state.
func (s *Suggester) Await(ctx context.Context, in SuggestPayload, out Suggested) (Suggested, error) {
	watcher := newTurnWatcher(in.SourceSessionID)
	_, unsubscribe := s.journal.Subscribe(watcher.onRecords)
	defer unsubscribe()
	waiting, cancel := context.WithTimeout(ctx, s.wait+settleSlack)
	defer cancel()
	poll := time.Tick(suggestionPoll)
	for {
		// Read the job first: a suggestion stored when the job ended is then visible.
		job, err := s.queue.Job(ctx, out.JobID)
		if err != nil && !errors.Is(err, queue.ErrNotFound) {
			return Suggested{}, err
		}
		over := err != nil || job.State.Final()
		found, known, err := s.Find(ctx, in.SourceSessionID, out.RequestKey)
		if err != nil {
			return Suggested{}, err
		}
		if over || known && found.Status != SuggestionStreaming {
			out.Status, out.Suggestion = answer(job, found, in.Draft)
			return out, nil
		}
		select {
		case <-watcher.news:
		case <-poll:
		case <-waiting.Done():
			return out, ctx.Err()
		}
	}
}

// answer returns the caller's result for a suggestion that is final or will never be stored.
func answer(job queue.Job, found Suggestion, draft string) (status, suggestion string) {
	var result suggestResult
	_ = json.Unmarshal(job.Result, &result) // a job of another type, or an open one, has no suggestion in its result
	fallback := FallbackSuggestion(draft)
	switch {
	case found.Status != SuggestionComplete || found.Suggestion == "" || found.Suggestion == FallbackSuggestion(""):
		return "fallback", fallback // prefer the caller's draft to the fallback of a job that did not have it
	case result.Status == "fallback" || found.Suggestion == fallback:
		return "fallback", found.Suggestion
	}
	return "ok", found.Suggestion
}
