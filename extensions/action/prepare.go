package action

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"harness/extensions"
	"harness/extensions/sdk"
	"harness/internal/platform/database"
	"harness/transcript"
)

// prepare validates a request and checks its scope: an action may touch only the project, session and turn of its
// event.
func (e *Executor) prepare(ctx context.Context, call extensions.ActionCall) (prepared, *outcome) {
	switch call.Request.ActionType {
	case sdk.ActionTranscriptUpsert:
		return e.upsert(call)
	case sdk.ActionApprovalDecide:
		return e.decide(ctx, call)
	case sdk.ActionTurnSteer:
		return e.steer(call)
	case sdk.ActionQueueEnqueue:
		return e.enqueue(call)
	case actionRename:
		return e.rename(call)
	}
	return refuse(sdk.Invalid, "unknown_action_type", fmt.Sprintf("there is no action %q", call.Request.ActionType))
}

func refuse(status sdk.ActionStatus, code, message string) (prepared, *outcome) {
	out := refused(status, code, message)
	return nil, &out
}

func invalid(message string) (prepared, *outcome) {
	return refuse(sdk.Invalid, "invalid_payload", message)
}

func unavailable(part string) (prepared, *outcome) {
	return refuse(sdk.Failed, "unavailable", "this server has no "+part)
}

func scopeRefusal(problems ...string) *outcome {
	for _, problem := range problems {
		if problem != "" {
			out := refused(sdk.Forbidden, "scope_mismatch", problem)
			return &out
		}
	}
	return nil
}

func decode(raw json.RawMessage, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	return decoder.Decode(into)
}

func (e *Executor) upsert(call extensions.ActionCall) (prepared, *outcome) {
	var in struct {
		SessionID string `json:"sessionId"`
		Entry     struct {
			MessageID   string          `json:"messageId"`
			TurnID      string          `json:"turnId"`
			Role        string          `json:"role"`
			Type        string          `json:"type"`
			Content     *string         `json:"content"`
			Details     json.RawMessage `json:"details"`
			StartedAt   *int64          `json:"startedAt"`
			CompletedAt *int64          `json:"completedAt"`
			Status      string          `json:"status"`
		} `json:"entry"`
	}
	if err := decode(call.Request.Payload, &in); err != nil {
		return invalid(err.Error())
	}
	entry := transcript.Entry{MessageID: strings.TrimSpace(in.Entry.MessageID), TurnID: strings.TrimSpace(in.Entry.TurnID),
		Role: in.Entry.Role, Type: strings.TrimSpace(in.Entry.Type), StartedAt: in.Entry.StartedAt,
		CompletedAt: in.Entry.CompletedAt, Status: transcript.Status(in.Entry.Status)}
	sessionID := strings.TrimSpace(in.SessionID)
	switch {
	case sessionID == "", entry.MessageID == "", entry.TurnID == "", entry.Type == "":
		return invalid("sessionId, entry.messageId, entry.turnId and entry.type must be non-empty strings")
	case in.Entry.Content == nil:
		return invalid("entry.content must be a string")
	case entry.Role != "user" && entry.Role != "assistant" && entry.Role != "system":
		return invalid("entry.role must be user, assistant or system")
	case (entry.StartedAt != nil && *entry.StartedAt < 0) || (entry.CompletedAt != nil && *entry.CompletedAt < 0):
		return invalid("times must not be negative")
	}
	switch entry.Status {
	case transcript.Streaming, transcript.Complete, transcript.Canceled, transcript.Failed:
	default:
		return invalid("entry.status must be streaming, complete, canceled or error")
	}
	if err := database.CheckKeys("entry.messageId", entry.MessageID, "entry.turnId", entry.TurnID); err != nil {
		return invalid(err.Error())
	}
	entry.Content = *in.Entry.Content
	entry.Details = detailsText(in.Entry.Details)
	if problem := scopeRefusal(extensions.Outside("session", call.Scope.SessionID, sessionID),
		extensions.Outside("turn", call.Scope.TurnID, entry.TurnID)); problem != nil {
		return nil, problem
	}
	if e.opts.Transcripts == nil {
		return unavailable("transcripts")
	}
	return func(ctx context.Context) outcome {
		out := byError(e.opts.Transcripts.UpsertTranscript(ctx, sessionID, entry))
		out.more = map[string]any{"sessionId": sessionID, "messageId": entry.MessageID}
		return out
	}, nil
}

// detailsText returns details as text; any JSON other than a string is returned as JSON.
func detailsText(raw json.RawMessage) *string {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	return &text
}

func (e *Executor) decide(ctx context.Context, call extensions.ActionCall) (prepared, *outcome) {
	var in struct {
		ApprovalID string `json:"approvalId"`
		Decision   string `json:"decision"`
		Scope      string `json:"scope"`
		Message    string `json:"message"`
	}
	if err := decode(call.Request.Payload, &in); err != nil {
		return invalid(err.Error())
	}
	if in.Scope == "" {
		in.Scope = "turn"
	}
	switch {
	case in.ApprovalID == "":
		return invalid("approvalId must be a non-empty string")
	case in.Decision != "accept" && in.Decision != "decline" && in.Decision != "cancel":
		return invalid("decision must be accept, decline or cancel")
	case in.Scope != "turn" && in.Scope != "session":
		return invalid("scope must be turn or session")
	case e.opts.Approvals == nil:
		return unavailable("approvals")
	}
	about, err := e.opts.Approvals.Approval(ctx, in.ApprovalID)
	if err != nil {
		out := byError(err)
		return nil, &out
	}
	if problem := scopeRefusal(extensions.Outside("session", call.Scope.SessionID, about.SessionID),
		extensions.Outside("turn", call.Scope.TurnID, about.TurnID)); problem != nil {
		return nil, problem
	}
	return func(ctx context.Context) outcome {
		out := byError(e.opts.Approvals.Decide(ctx,
			Decision{ApprovalID: in.ApprovalID, Decision: in.Decision, Scope: in.Scope,
				Message: in.Message, Actor: "extension:" + call.Extension}))
		out.more = map[string]any{"approvalId": in.ApprovalID, "decision": in.Decision, "scope": in.Scope}
		return out
	}, nil
}

func (e *Executor) steer(call extensions.ActionCall) (prepared, *outcome) {
	var in struct {
		SessionID string `json:"sessionId"`
		TurnID    string `json:"turnId"`
		Input     string `json:"input"`
	}
	if err := decode(call.Request.Payload, &in); err != nil {
		return invalid(err.Error())
	}
	if in.SessionID == "" || in.TurnID == "" || strings.TrimSpace(in.Input) == "" {
		return invalid("sessionId, turnId and input must be non-empty strings")
	}
	if problem := scopeRefusal(extensions.Outside("session", call.Scope.SessionID, in.SessionID),
		extensions.Outside("turn", call.Scope.TurnID, in.TurnID)); problem != nil {
		return nil, problem
	}
	if e.opts.Turns == nil {
		return unavailable("turns to steer")
	}
	return func(ctx context.Context) outcome {
		out := byError(e.opts.Turns.Steer(ctx, in.SessionID, in.TurnID, in.Input))
		out.more = map[string]any{"threadId": in.SessionID, "turnId": in.TurnID}
		return out
	}, nil
}

func (e *Executor) enqueue(call extensions.ActionCall) (prepared, *outcome) {
	var in sdk.EnqueueInput
	if err := decode(call.Request.Payload, &in); err != nil {
		return invalid(err.Error())
	}
	if in.Type == "" || in.ProjectID == "" || !isObject(in.Payload) {
		return invalid("type and projectId must be non-empty strings, payload an object")
	}
	if problem := scopeRefusal(call.Scope.JobOutside(in)); problem != nil {
		return nil, problem
	}
	if e.opts.Jobs == nil {
		return unavailable("queue")
	}
	return func(ctx context.Context) outcome {
		queued, err := e.opts.Jobs.EnqueueJob(ctx, in)
		out := byError(err)
		if err == nil {
			if queued.Status == sdk.AlreadyQueued {
				out = refused(sdk.AlreadyResolved, sdk.AlreadyQueued, "")
			}
			out.more = map[string]any{"enqueueStatus": queued.Status, "job": queued.Job}
		}
		return out
	}, nil
}

func isObject(raw json.RawMessage) bool {
	trimmed := bytes.TrimLeft(raw, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{'
}
