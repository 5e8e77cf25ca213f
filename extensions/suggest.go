package extensions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"harness/extensions/sdk"
	"harness/internal/lib/javascript"
	"harness/transcript"
)

// ErrNoJob reports that no extension queued the job for a route's response; the route responds 409 job_conflict.
var ErrNoJob = errors.New("no extension queued a job")

// SuggestRequest is the payload of suggest_request.requested.
type SuggestRequest struct {
	RequestKey string `json:"requestKey"`
	SessionID  string `json:"sessionId"`
	// ProjectID is the owner of the job, which may be the session itself (session.Session.Owner).
	ProjectID      string `json:"projectId"`
	ThreadID       string `json:"threadId"`
	TurnID         string `json:"turnId"`
	UserRequest    string `json:"userRequest"`
	TurnTranscript string `json:"turnTranscript"`
	Model          string `json:"model,omitempty"`
	Effort         string `json:"effort,omitempty"`
	Draft          string `json:"draft,omitempty"`
}

// Suggest asks extensions for a suggestion job and returns the first enqueued, otherwise the first already queued. It
// returns ErrNoJob if there is none; results are the handlers' answers.
func (r *Registry) Suggest(ctx context.Context, request SuggestRequest) (job sdk.EmitResult, results []sdk.EmitResult,
	err error) {
	event := &Event{Type: EventSuggestRequest, EmittedAt: javascript.ISOTime(time.Now().UnixMilli()),
		CorrelationID: "suggest|" + request.RequestKey, Payload: encode(request)}
	results = r.Emit(ctx, event, Scope{ProjectID: request.ProjectID, SessionID: request.SessionID, TurnID: request.TurnID})
	winner := sdk.SelectEnqueueWinner(results, sdk.PreferEnqueued)
	if winner == nil {
		return sdk.EmitResult{}, results, ErrNoJob
	}
	return *winner, results, nil
}

// noTurn is the turn id of a suggestion requested while no turn runs, as in codex-manager.
const noTurn = "suggest-request"

// Suggest is Registry.Suggest with the stored chat: the last user message, and the numbered messages of user and
// assistant. Of a long chat it passes only the end. TurnID is the running turn, if any.
func (d *Dispatcher) Suggest(ctx context.Context, request SuggestRequest) (job sdk.EmitResult, results []sdk.EmitResult,
	err error) {
	ctx = d.opts.Journal.Reading(ctx)
	entries, err := transcript.Store{}.List(ctx, d.opts.DB.Read(), request.SessionID)
	if err = cmp.Or(err, d.opts.Journal.Settled(ctx)); err != nil {
		return sdk.EmitResult{}, nil, err
	}
	request.UserRequest = "User request unavailable."
	var said []string
	for i := range entries {
		entry := &entries[i]
		if entry.Role != "user" && entry.Role != "assistant" || strings.TrimSpace(entry.Content) == "" {
			continue
		}
		said = append(said, fmt.Sprintf("%d. %s: %s", len(said)+1, entry.Role, entry.Content))
		if entry.Role == "user" {
			request.UserRequest = entry.Content
		}
	}
	request.TurnTranscript = "No transcript context available."
	if said != nil {
		request.TurnTranscript = lastBytes(strings.Join(said, "\n"), maxTranscript)
	}
	if request.TurnID == "" {
		request.TurnID = noTurn
	}
	return d.opts.Registry.Suggest(ctx, request)
}
