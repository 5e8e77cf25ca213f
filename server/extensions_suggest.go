package server

import (
	"context"
	"errors"
	"slices"

	"github.com/google/uuid"

	"harness/extensions"
	"harness/extensions/sdk"
	"harness/internal/services/session/manager"
	"harness/queue"
	"harness/queue/jobs"
)

// extensionSuggester asks extensions for suggestions if one of them handles suggest_request.requested; otherwise the
// built-in job makes them.
type extensionSuggester struct {
	extensions *extensionParts
	sessions   *manager.Service
	queue      *queue.Queue
	builtIn    *jobs.Suggester
}

// Request implements operations.Suggester.
func (e extensionSuggester) Request(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error) {
	out, handled, err := e.ask(ctx, in)
	if err != nil || handled {
		return out, err
	}
	return e.builtIn.Request(ctx, in)
}

// RequestAndWait implements operations.Suggester.
func (e extensionSuggester) RequestAndWait(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error) {
	out, handled, err := e.ask(ctx, in)
	if err != nil {
		return out, err
	}
	if !handled {
		return e.builtIn.RequestAndWait(ctx, in)
	}
	return e.builtIn.Await(ctx, in, out)
}

// broken reports whether a handler failed, as opposed to having nothing to do.
func broken(results []sdk.EmitResult) bool {
	return slices.ContainsFunc(results, func(r sdk.EmitResult) bool { return r.Kind == sdk.HandlerError })
}

// ask emits suggest_request.requested. handled is false if no extension subscribes, or a subscriber is broken: then the
// built-in job makes the suggestion.
func (e extensionSuggester) ask(ctx context.Context, in jobs.SuggestPayload) (out jobs.Suggested, handled bool,
	err error) {
	if !e.extensions.registry.Subscribed(extensions.EventSuggestRequest) {
		return out, false, nil
	}
	key := uuid.NewString()
	job, results, err := e.extensions.dispatcher.Suggest(ctx,
		extensions.SuggestRequest{RequestKey: key, SessionID: in.SourceSessionID, ProjectID: in.ProjectID,
			ThreadID: in.SourceSessionID, TurnID: e.sessions.TurnFinder.ActiveTurn(in.SourceSessionID), Model: in.Model, Effort: in.Effort,
			Draft: in.Draft})
	if errors.Is(err, extensions.ErrNoJob) {
		if broken(results) {
			return out, false, nil
		}
		// The handlers declined, for example because suggestions are off in the session. That is their answer.
		return out, true, &queue.Error{Code: queue.CodeConflict, Message: "no agent handler enqueued a suggestion job"}
	}
	if err != nil {
		return out, false, err
	}
	// A job that was queued already stores its suggestion under its own key.
	if stored, err := e.queue.Job(ctx, job.Job.ID); err == nil {
		if its := jobs.RequestKey(stored); its != "" {
			key = its
		}
	}
	return jobs.Suggested{Status: string(queue.Queued), JobID: job.Job.ID, RequestKey: key, ProjectID: in.ProjectID,
		Dedupe: queue.EnqueueStatus(job.Status)}, true, nil
}
