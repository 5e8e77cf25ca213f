package api

import (
	"context"
	"errors"
	"net/http"

	"harness/api/schema"
	"harness/queue/jobs"
)

// SuggestionStore keeps suggested requests. *jobs.Suggestions implements it; it works with the queue switched off too.
type SuggestionStore interface {
	// Upsert stores a suggestion and announces it, and returns what is stored then.
	Upsert(ctx context.Context, sessionID, requestKey string, next jobs.Suggestion) (jobs.Suggestion, error)
}

// Suggester has suggested requests made. *jobs.Suggester implements it.
type Suggester interface {
	// Request queues a suggestion; RequestAndWait waits for it as well, as long as a client may be kept waiting. *queue.Error.
	Request(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
	RequestAndWait(ctx context.Context, in jobs.SuggestPayload) (jobs.Suggested, error)
}

var (
	suggestBody = schema.Optional(schema.Struct(
		optional("model", modelField), optional("effort", effortField), optional("draft", schema.Text{}.Trim().Min(1).Max(4000))))
	suggestionUpsertBody = schema.Struct(
		required("requestKey", keyField), required("status", schema.Enum("streaming", "complete", "error", "canceled")),
		optional("suggestion", schema.Text{}.Trim().Min(1).Max(8000)), optional("error", schema.Text{}.Trim().Min(1).Max(4000)))
)

func (s *server) suggestionRoutes() []route {
	const base = "/api/sessions/:sessionId/suggested-request"
	body := suggestBody
	if s.Suggester == nil {
		body = nil // that nobody makes suggestions is told before the body is looked at
	}
	return []route{
		{method: http.MethodPost, path: base, guards: ownedSession, body: body, handle: func(ctx context.Context, in *input) (reply, error) {
			return s.suggest(ctx, in, Suggester.RequestAndWait)
		}},
		{method: http.MethodPost, path: base + "/jobs", guards: ownedSession, body: body, handle: func(ctx context.Context, in *input) (reply, error) {
			return s.suggest(ctx, in, Suggester.Request)
		}},
		{method: http.MethodPost, path: base + "/upsert", agent: agentSession, guards: userSession, body: suggestionUpsertBody, handle: s.upsertSuggestion},
	}
}

// ownerOf is whose queue a session's jobs wait in: its project's, or its own.
func ownerOf(in *input) string {
	if in.session.ProjectID != nil {
		return *in.session.ProjectID
	}
	return "session:" + in.sessionID()
}

func (s *server) suggest(ctx context.Context, in *input, request func(Suggester, context.Context, jobs.SuggestPayload) (jobs.Suggested, error)) (reply, error) {
	if s.Suggester == nil {
		return reply{}, errQueueOff
	}
	payload := jobs.SuggestPayload{ProjectID: ownerOf(in), SourceSessionID: in.sessionID(), Effort: in.body.Get("effort").Text(), Draft: in.body.Get("draft").Text()}
	if model := modelOf(in.body); model != nil {
		payload.Model = *model
	}
	suggested, err := request(s.Suggester, ctx, payload)
	if err != nil {
		return reply{}, err
	}
	if suggested.Status != "queued" {
		return ok(struct {
			Status     string `json:"status"`
			SessionID  string `json:"sessionId"`
			RequestKey string `json:"requestKey"`
			Suggestion string `json:"suggestion"`
		}{suggested.Status, in.sessionID(), suggested.RequestKey, suggested.Suggestion})
	}
	return reply{status: http.StatusAccepted, body: struct {
		Status     string `json:"status"`
		JobID      string `json:"jobId"`
		RequestKey string `json:"requestKey"`
		SessionID  string `json:"sessionId"`
		ProjectID  string `json:"projectId"`
		Dedupe     string `json:"dedupe"`
	}{"queued", suggested.JobID, suggested.RequestKey, in.sessionID(), suggested.ProjectID, string(suggested.Dedupe)}}, nil
}

func (s *server) upsertSuggestion(ctx context.Context, in *input) (reply, error) {
	if s.Suggestions == nil {
		return reply{}, errQueueOff
	}
	next := jobs.Suggestion{Status: jobs.SuggestionStatus(in.body.Get("status").Text()), Suggestion: in.body.Get("suggestion").Text(), Error: in.body.Get("error").Text()}
	if next.Status == jobs.SuggestionComplete && next.Suggestion == "" {
		return reply{}, errMissingSuggestion
	}
	key := in.body.Get("requestKey").Text()
	entry, err := s.Suggestions.Upsert(ctx, in.sessionID(), key, next)
	if err != nil {
		return reply{}, err
	}
	return ok(struct {
		Status     string          `json:"status"`
		SessionID  string          `json:"sessionId"`
		RequestKey string          `json:"requestKey"`
		Entry      jobs.Suggestion `json:"entry"`
	}{"ok", in.sessionID(), key, entry})
}

var errMissingSuggestion = errors.New("suggestion is required when status is complete")

// suggestionFailures are about suggested requests.
func suggestionFailures(err error, _ *route, _ *input) (failure, bool) {
	if !errors.Is(err, errMissingSuggestion) {
		return failure{}, false
	}
	return failure{status: http.StatusBadRequest, body: struct {
		Status  string `json:"status"`
		Code    string `json:"code"`
		Message string `json:"message"`
	}{"invalid_request", "missing_suggestion", errMissingSuggestion.Error()}}, true
}
