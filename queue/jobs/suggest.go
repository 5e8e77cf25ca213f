package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"harness/database"
	"harness/journal"
	"harness/queue"
	"harness/session"
)

// TypeSuggestRequest is the job type that proposes the next message of a chat.
const TypeSuggestRequest = "suggest_request"

// suggestAgent is the worker that makes suggestions.
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
		Type: TypeSuggestRequest, Priority: queue.Interactive, Dedupe: queue.SingleFlight, Timeout: max(a.AttemptTimeout, a.SuggestWait+10*time.Second),
		Validate: validateSuggest, Run: a.suggest, Retryable: retryable, Delay: queue.LinearDelay, Cancel: queue.InterruptTurn, Interrupt: a.interrupt,
		OnQueued: a.suggestQueued, OnTerminal: a.suggestEnded,
	}
}

// suggest asks the owner's worker, at most for SuggestWait; then, and whenever the worker has no answer, the fallback is the suggestion.
func (a *agents) suggest(ctx context.Context, run *queue.Run) (json.RawMessage, error) {
	var in SuggestPayload
	if err := json.Unmarshal(run.Job().Payload, &in); err != nil {
		return nil, err
	}
	late := make(chan struct{})
	timer := time.AfterFunc(a.SuggestWait, func() { close(late) })
	defer timer.Stop()
	// Preparing the worker counts too: its turns end with this context.
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
	detail, err := a.Sessions.Get(bounded, in.SourceSessionID)
	if err != nil {
		return nil, err
	}
	text, _, err := a.instruct(bounded, run, Instruction{Agent: suggestAgent, JobKind: TypeSuggestRequest, ProjectID: in.ProjectID, SourceSessionID: in.SourceSessionID,
		ThreadID: in.SourceSessionID, TurnID: TypeSuggestRequest, Text: suggestInstruction(in, detail), ExpectResponse: ExpectText}, nil)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if errors.Is(err, errRefused) {
		return nil, err // an operator has something to mend, which a fallback would hide
	}
	if err != nil {
		a.Logger.Warn().Err(err).Str("job", run.Job().ID).Str("session", in.SourceSessionID).Msg("no worker made a suggestion; the fallback is used")
		return encode(suggestResult{"fallback", FallbackSuggestion(in.Draft)}), nil
	}
	return encode(suggestResult{"ok", strings.TrimSpace(text)}), nil
}

// Bounds of what a worker is shown of a chat.
const (
	shownEntries = 40
	shownText    = 2000
)

func suggestInstruction(in SuggestPayload, detail session.Detail) string {
	var out strings.Builder
	out.WriteString("# Job: suggest_request\n\nWrite the next message the user of this chat could send: one message, concrete, in the user's voice. " +
		"Answer with the message alone.\n\n## Chat\n")
	entries := detail.Transcript
	if len(entries) > shownEntries {
		entries = entries[len(entries)-shownEntries:]
	}
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
	return a.putSuggestion(ctx, tx, job, Suggestion{Status: SuggestionStreaming})
}

// suggestEnded settles the suggestion in the transaction that ends the job, whichever way it ends.
func (a *agents) suggestEnded(ctx context.Context, tx database.Tx, job queue.Job) ([]journal.Event, error) {
	switch job.State {
	case queue.Completed:
		var done suggestResult
		if err := json.Unmarshal(job.Result, &done); err != nil {
			return nil, err
		}
		return a.putSuggestion(ctx, tx, job, Suggestion{Status: SuggestionComplete, Suggestion: done.Suggestion})
	case queue.Canceled:
		return a.putSuggestion(ctx, tx, job, Suggestion{Status: SuggestionCanceled})
	default:
		reason := ""
		if job.Error != nil {
			reason = *job.Error
		}
		return a.putSuggestion(ctx, tx, job, Suggestion{Status: SuggestionError, Error: reason})
	}
}

func (a *agents) putSuggestion(ctx context.Context, tx database.Tx, job queue.Job, next Suggestion) ([]journal.Event, error) {
	in, readable := readSuggest(job)
	if !readable {
		return nil, nil // a payload nobody can read has no suggestion
	}
	present, err := a.Sessions.PresentIn(ctx, tx, in.SourceSessionID)
	if err != nil || !present {
		return nil, err
	}
	// Somebody who wrote the suggestion meanwhile keeps it.
	old, found, err := a.Suggestions.find(ctx, tx, in.SourceSessionID, in.RequestKey)
	if err != nil || found && old.Status != SuggestionStreaming {
		return nil, err
	}
	_, events, err := a.Suggestions.put(ctx, tx, in.SourceSessionID, in.RequestKey, next)
	return events, err
}

func readSuggest(job queue.Job) (in SuggestPayload, readable bool) {
	err := json.Unmarshal(job.Payload, &in)
	return in, err == nil
}

// suggestKey is the dedupe key of a session's suggestions: one is made at a time, whoever asks.
func suggestKey(sessionID string) string { return TypeSuggestRequest + ":" + sessionID }

// RequestKey is the key under which a job's suggestion is told, "" for a job that makes none.
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

// Queue is what suggestions need of the job queue. *queue.Queue implements it.
type Queue interface {
	Enqueue(ctx context.Context, in queue.Request) (queue.EnqueueResult, error)
	WaitForTerminal(ctx context.Context, id string) (queue.Job, error)
}

// Suggested is where a request for a suggestion stands.
type Suggested struct {
	// Status is queued, ok (a worker's text) or fallback (the deterministic one).
	Status     string
	JobID      string
	RequestKey string
	ProjectID  string
	Dedupe     queue.EnqueueStatus
	Suggestion string
}

// Suggester takes requests for suggestions. Make it with NewSuggester.
type Suggester struct {
	*Suggestions
	queue Queue
	wait  time.Duration
}

// NewSuggester makes the room behind the suggested-request routes.
func NewSuggester(suggestions *Suggestions, q Queue, wait time.Duration) *Suggester {
	return &Suggester{Suggestions: suggestions, queue: q, wait: wait}
}

// Request queues a suggestion for a session. While one is under way its key and job are answered (the original answered with a key no
// event would ever name).
func (s *Suggester) Request(ctx context.Context, in SuggestPayload) (Suggested, error) {
	in.RequestKey = uuid.NewString()
	key := suggestKey(in.SourceSessionID)
	outcome, err := s.queue.Enqueue(ctx, queue.Request{Type: TypeSuggestRequest, ProjectID: in.ProjectID, SourceSessionID: &in.SourceSessionID,
		DedupeKey: &key, Payload: encode(in)})
	if err != nil {
		return Suggested{}, err
	}
	var stored SuggestPayload
	if err := json.Unmarshal(outcome.Job.Payload, &stored); err != nil {
		return Suggested{}, fmt.Errorf("read the payload of job %s: %w", outcome.Job.ID, err)
	}
	return Suggested{Status: string(queue.Queued), JobID: outcome.Job.ID, RequestKey: stored.RequestKey, ProjectID: in.ProjectID, Dedupe: outcome.Status}, nil
}

// settleSlack is what a job at its deadline gets to write its fallback before its caller is told "queued".
const settleSlack = time.Second

// RequestAndWait is Request, and waits for the suggestion; it stays queued when it takes too long.
func (s *Suggester) RequestAndWait(ctx context.Context, in SuggestPayload) (Suggested, error) {
	out, err := s.Request(ctx, in)
	if err != nil {
		return Suggested{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, s.wait+settleSlack)
	defer cancel()
	job, err := s.queue.WaitForTerminal(waiting, out.JobID)
	switch {
	case errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil:
		return out, nil
	case err != nil:
		return Suggested{}, err
	case job.State != queue.Completed:
		out.Status, out.Suggestion = "fallback", FallbackSuggestion(in.Draft)
		return out, nil
	}
	var done suggestResult
	if err := json.Unmarshal(job.Result, &done); err != nil {
		return Suggested{}, fmt.Errorf("read the result of job %s: %w", job.ID, err)
	}
	out.Status, out.Suggestion = done.Status, done.Suggestion
	return out, nil
}
