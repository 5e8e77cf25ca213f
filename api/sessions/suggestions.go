package sessions

import (
	"context"
	"net/http"

	"harness/api/rest"
	"harness/api/schema"
	"harness/internal/operations"
	"harness/queue/jobs"
)

var (
	suggestBody = schema.Optional(schema.Struct(
		rest.Optional("model", modelField), rest.Optional("effort", effortField),
		rest.Optional("draft", schema.Text{}.Trim().Min(1).Max(operations.MaxDraft))))
	suggestionUpsertBody = schema.Struct(
		rest.Required("requestKey", rest.Key),
		rest.Required("status", schema.Enum("streaming", "complete", "error", "canceled")),
		rest.Optional("suggestion", schema.Text{}.Trim().Min(1).Max(operations.MaxSuggestion)),
		rest.Optional("error", schema.Text{}.Trim().Min(1).Max(operations.MaxSuggestionError)))
)

func (s *suggestions) suggestionRoutes() []rest.Route {
	const base = "/api/sessions/:sessionId/suggested-request"
	body := suggestBody
	if !s.suggestions.CanSuggest() {
		body = nil // a server without suggestions responds before it reads the body
	}
	return []rest.Route{
		{Method: http.MethodPost, Path: base, Operation: operations.Suggest, Body: body,
			Once: true, Handle: suggest(s.suggestions.SuggestAndWait)},
		{Method: http.MethodPost, Path: base + "/jobs", Operation: operations.Suggest, Body: body,
			Once: true, Handle: suggest(s.suggestions.Suggest)},
		{
			Method: http.MethodPost, Path: base + "/upsert", Agent: rest.AgentSession, Operation: operations.StoreSuggested,
			Body: suggestionUpsertBody, Handle: s.upsertSuggestion,
		},
	}
}

// suggest requests a suggestion, and returns it or its job.
func suggest(
	request func(ctx context.Context, sessionID string, wish operations.SuggestionWish) (jobs.Suggested, error),
) func(context.Context, *rest.Input) (rest.Reply, error) {
	return func(ctx context.Context, in *rest.Input) (rest.Reply, error) {
		suggested, err := request(ctx, in.SessionID(), operations.SuggestionWish{
			Model: in.Body.Get("model").TextPointer(), Effort: in.Body.Get("effort").Text(), Draft: in.Body.Get("draft").Text(),
		})
		if err != nil {
			return rest.Reply{}, err
		}
		return suggestionReply(in, suggested)
	}
}

func suggestionReply(in *rest.Input, suggested jobs.Suggested) (rest.Reply, error) {
	if suggested.Status != "queued" {
		return rest.OK(struct {
			Status     string `json:"status"`
			SessionID  string `json:"sessionId"`
			RequestKey string `json:"requestKey"`
			Suggestion string `json:"suggestion"`
		}{suggested.Status, in.SessionID(), suggested.RequestKey, suggested.Suggestion})
	}
	return rest.Reply{Status: http.StatusAccepted, Body: struct {
		Status     string `json:"status"`
		JobID      string `json:"jobId"`
		RequestKey string `json:"requestKey"`
		SessionID  string `json:"sessionId"`
		ProjectID  string `json:"projectId"`
		Dedupe     string `json:"dedupe"`
	}{"queued", suggested.JobID, suggested.RequestKey, in.SessionID(), suggested.ProjectID, string(suggested.Dedupe)}}, nil
}

func (s *suggestions) upsertSuggestion(ctx context.Context, in *rest.Input) (rest.Reply, error) {
	next := jobs.Suggestion{
		Status: jobs.SuggestionStatus(in.Body.Get("status").Text()), Suggestion: in.Body.Get("suggestion").Text(),
		Error: in.Body.Get("error").Text(),
	}
	key := in.Body.Get("requestKey").Text()
	entry, err := s.suggestions.StoreSuggestion(ctx, in.SessionID(), key, next)
	if err != nil {
		return rest.Reply{}, err
	}
	return rest.OK(struct {
		Status     string          `json:"status"`
		SessionID  string          `json:"sessionId"`
		RequestKey string          `json:"requestKey"`
		Entry      jobs.Suggestion `json:"entry"`
	}{"ok", in.SessionID(), key, entry})
}
