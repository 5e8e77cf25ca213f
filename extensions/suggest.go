package extensions

import (
	"context"
	"errors"

	"harness/extensions/sdk"
	"harness/transcript"
)

// ErrNoJob says that no extension queued the job a route needs to answer with (EX-33); the wire says 409 job_conflict.
var ErrNoJob = errors.New("no extension queued a job")

// SuggestRequest is the payload of suggest_request.requested (EX-43).
type SuggestRequest struct {
	RequestKey string `json:"requestKey"`
	SessionID  string `json:"sessionId"`
	// ProjectID is the owner of the job; use OwnerID.
	ProjectID      string `json:"projectId"`
	ThreadID       string `json:"threadId"`
	TurnID         string `json:"turnId"`
	UserRequest    string `json:"userRequest"`
	TurnTranscript string `json:"turnTranscript"`
	Model          string `json:"model,omitempty"`
	Effort         string `json:"effort,omitempty"`
	Draft          string `json:"draft,omitempty"`
}

// OwnerID is the queue owner of a session: its project, or "session:<id>" without one (EX-44).
func OwnerID(sessionID string, projectID *string) string {
	if projectID != nil && *projectID != "" {
		return *projectID
	}
	return "session:" + sessionID
}

// Suggest asks extensions for a suggestion job and returns the job the route answers with: the first enqueued, else the first already queued
// (EX-32). ErrNoJob when there is none; results tell what the handlers said.
func (r *Registry) Suggest(ctx context.Context, request SuggestRequest) (job sdk.EmitResult, results []sdk.EmitResult, err error) {
	event := &Event{Type: EventSuggestRequest, EmittedAt: isoTime(r.opts.Clock().UnixMilli()), CorrelationID: "suggest|" + request.RequestKey, Payload: encode(request)}
	results = r.Emit(ctx, event, Scope{ProjectID: request.ProjectID, SessionID: request.SessionID, TurnID: request.TurnID})
	winner := sdk.SelectEnqueueWinner(results, sdk.PreferEnqueued)
	if winner == nil {
		return sdk.EmitResult{}, results, ErrNoJob
	}
	return *winner, results, nil
}

// Suggest is Registry.Suggest with the session's latest turn filled in from its stored transcript when the request names none.
func (d *Dispatcher) Suggest(ctx context.Context, request SuggestRequest) (job sdk.EmitResult, results []sdk.EmitResult, err error) {
	if request.TurnID == "" {
		if request.TurnID, err = d.latestTurn(ctx, request.SessionID); err != nil {
			return sdk.EmitResult{}, nil, err
		}
		turn := d.turnText(ctx, request.SessionID, request.TurnID)
		request.UserRequest, request.TurnTranscript = turn.request, turn.transcript
	}
	return d.opts.Registry.Suggest(ctx, request)
}

// latestTurn is the turn of the last thing the user said, "" when there is none.
func (d *Dispatcher) latestTurn(ctx context.Context, sessionID string) (string, error) {
	entries, err := transcript.Store{}.List(ctx, d.opts.DB.Read(), sessionID)
	if err != nil {
		return "", err
	}
	for i := len(entries) - 1; i >= 0; i-- {
		if entries[i].Role == "user" {
			return entries[i].TurnID, nil
		}
	}
	return "", nil
}
