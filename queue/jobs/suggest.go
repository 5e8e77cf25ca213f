package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/queue"
	"harness/transcript"
)

// TypeSuggestRequest is the job type that proposes the next message of a chat.
const TypeSuggestRequest = "suggest_request"

// suggestAgent is the name of the agent whose worker makes suggestions.
const suggestAgent = "supervisor"

// SuggestPayload is the payload of a suggest_request job.
type SuggestPayload struct {
	RequestKey      string `json:"requestKey"`
	ProjectID       string `json:"projectId"`
	SourceSessionID string `json:"sourceSessionId"`
	Model           string `json:"model,omitempty"`
	Effort          string `json:"effort,omitempty"`
	Draft           string `json:"draft,omitempty"`
}

// suggestResult is the result of a suggest_request job.
type suggestResult struct {
	Status     string `json:"status"` // ok or fallback
	Suggestion string `json:"suggestion"`
}

func validateSuggest(raw json.RawMessage) (json.RawMessage, error) {
	var in SuggestPayload
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, fmt.Errorf("payload is not a suggestion request: %w", err)
	}
	if in.RequestKey == "" || in.SourceSessionID == "" || in.ProjectID == "" {
		return nil, errors.New("a suggestion request needs requestKey, projectId and sourceSessionId")
	}
	return encode(in), nil
}

func (a *agents) suggestDefinition() queue.Definition {
	return queue.Definition{
		Type: TypeSuggestRequest, Priority: queue.Interactive, Dedupe: queue.SingleFlight,
		Timeout: max(a.AttemptTimeout, a.SuggestWait+10*time.Second), Validate: validateSuggest, Run: a.suggest,
		Retryable: retryable, Delay: queue.LinearDelay, Cancel: queue.InterruptTurn, Interrupt: a.interrupt,
		Resumable: true, OnQueued: a.suggestQueued, OnTerminal: a.suggestEnded,
	}
}

// suggest asks the owner's worker for a suggestion and waits at most SuggestWait. Without an answer it uses the
// fallback.
func (a *agents) suggest(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
	var in SuggestPayload
	if err := json.Unmarshal(run.Job().Payload, &in); err != nil {
		return nil, err
	}
	late := make(chan struct{})
	timer := time.AfterFunc(a.SuggestWait, func() { close(late) })
	defer timer.Stop()
	// The time to prepare the worker counts too: its turns end with this context.
	bounded, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching := make(chan struct{})
	defer func() { cancel(nil); <-watching }()
	go func() {
		defer close(watching)
		select {
		case <-late:
			cancel(errTurnTimeout)
		case <-bounded.Done():
		}
	}()
	newest, err := a.Sessions.Read(bounded, in.SourceSessionID,
		session.Reading{Window: &transcript.Window{Limit: shownEntries}})
	if err != nil {
		return nil, err
	}
	text, _, err := a.instruct(bounded, run, Instruction{Agent: suggestAgent, JobKind: TypeSuggestRequest,
		ProjectID: in.ProjectID, SourceSessionID: in.SourceSessionID, ThreadID: in.SourceSessionID,
		TurnID: TypeSuggestRequest, Text: suggestInstruction(in, newest.Transcript),
		ExpectResponse: ExpectText, Model: in.Model, Effort: in.Effort}, nil)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, errRefused) {
		return nil, err // a fallback would hide an error that the operator must fix
	}
	if err != nil {
		a.Logger.Warn().Err(err).Str("job", run.Job().ID).Str("session", in.SourceSessionID).
			Msg("no worker made a suggestion; using the fallback")
		return encode(suggestResult{"fallback", FallbackSuggestion(in.Draft)}), nil
	}
	return encode(suggestResult{"ok", strings.TrimSpace(text)}), nil
}

// Limits of the chat text in a worker's prompt.
const (
	shownEntries = 40
	shownText    = 2000
)

func suggestInstruction(in SuggestPayload, entries []transcript.Entry) string {
	var out strings.Builder
	out.WriteString("# Job: suggest_request\n\nWrite the next message the user of this chat could send: one message, " +
		"concrete, in the user's voice. " +
		"Answer with the message alone.\n\n## Chat\n")
	for _, entry := range entries {
		if entry.Role != "user" && entry.Role != "assistant" {
			continue
		}
		text := entry.Content
		if len(text) > shownText {
			text = strings.ToValidUTF8(text[:shownText], "") + " [...]"
		}
		fmt.Fprintf(&out, "\n%s: %s\n", entry.Role, text)
	}
	if in.Draft != "" {
		out.WriteString("\n## The user's draft, to be improved\n\n" + in.Draft + "\n")
	}
	return out.String()
}

func (a *agents) suggestQueued(ctx context.Context, tx database.Tx, job queue.Job) ([]journal.Event, error) {
	in, readable := readSuggest(job)
	if !readable {
		return nil, nil // an unreadable payload has no suggestion
	}
	return a.storeSuggestion(ctx, tx, in.SourceSessionID, in.RequestKey, Suggestion{Status: SuggestionStreaming})
}

// suggestEnded stores the suggestion in the transaction that ends the job, in every final state.
func (a *agents) suggestEnded(ctx context.Context, tx database.Tx, job queue.Job) ([]journal.Event, error) {
	in, readable := readSuggest(job)
	if !readable {
		return nil, nil
	}
	var done suggestResult
	if job.State == queue.Completed {
		if err := json.Unmarshal(job.Result, &done); err != nil {
			return nil, err
		}
	}
	return a.storeSuggestion(ctx, tx, in.SourceSessionID, in.RequestKey, finalSuggestion(job, done.Suggestion))
}

// finalSuggestion returns the suggestion of a job that ended without storing one. made is the suggestion of a completed
// job.
func finalSuggestion(job queue.Job, made string) Suggestion {
	switch job.State {
	case queue.Completed:
		return Suggestion{Status: SuggestionComplete, Suggestion: made}
	case queue.Canceled:
		return Suggestion{Status: SuggestionCanceled}
	}
	reason := ""
	if job.Error != nil {
		reason = *job.Error
	}
	return Suggestion{Status: SuggestionError, Error: reason}
}

// storeSuggestion stores a suggestion unless the session is deleted or already has a final one.
func (a *agents) storeSuggestion(ctx context.Context, tx database.Tx, sessionID, requestKey string, next Suggestion) (
	[]journal.Event, error) {
	present, err := a.Sessions.PresentIn(ctx, tx, sessionID)
	if err != nil || !present {
		return nil, err
	}
	old, found, err := a.Suggestions.find(ctx, tx, sessionID, requestKey)
	if err != nil || found && old.Status != SuggestionStreaming {
		return nil, err
	}
	_, events, err := a.Suggestions.put(ctx, tx, sessionID, requestKey, next)
	return events, err
}

func readSuggest(job queue.Job) (in SuggestPayload, readable bool) {
	err := json.Unmarshal(job.Payload, &in)
	return in, err == nil
}

// suggestKey returns the dedupe key of a session's suggestions: all callers share one job at a time.
func suggestKey(sessionID string) string { return TypeSuggestRequest + ":" + sessionID }

// RequestKey returns the key of a job's suggestion, "" for a job that makes none.
func RequestKey(job queue.Job) string {
	var in struct {
		RequestKey string     `json:"requestKey"`
		Completion Completion `json:"completionSignal"`
	}
	if json.Unmarshal(job.Payload, &in) != nil {
		return ""
	}
	return or(in.RequestKey, in.Completion.RequestKey)
}
