package jobs

import (
	"context"
	"encoding/json"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/queue"
	"harness/transcript"
)

// Transcripts upserts entries of sessions that other packages own, within a job's transaction. *manager.Upserter
// implements it.
type Transcripts interface {
	// UpsertTranscriptIn stores and announces an entry. It does nothing if the session is deleted or the entry is
	// unchanged.
	UpsertTranscriptIn(ctx context.Context, tx database.Tx, sessionID string, entry transcript.Entry) (
		[]journal.Event, error)
	// PresentIn reports whether a session exists.
	PresentIn(ctx context.Context, tx database.Tx, sessionID string) (bool, error)
}

// announceTargets stores the placeholder of each target that is missing or not final.
func announceTargets(ctx context.Context, tx database.Tx, transcripts Transcripts, job queue.Job, in Instruction) (
	[]journal.Event, error) {
	var all []journal.Event
	for _, target := range in.Targets {
		old, found, err := transcript.Store{}.Find(ctx, tx, in.SourceSessionID, target.MessageID)
		if err != nil {
			return nil, err
		}
		if found && (old.Status == transcript.Complete || old.Status == transcript.Streaming) {
			continue
		}
		events, err := transcripts.UpsertTranscriptIn(ctx, tx, in.SourceSessionID,
			transcript.Entry{MessageID: target.MessageID, TurnID: in.TurnID, Role: "system",
				Type: target.Type, Content: target.placeholder(), Details: in.details(), StartedAt: job.StartedAt,
				Status: transcript.Streaming})
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	return all, nil
}

func (t Target) placeholder() string {
	if len(t.PlaceholderTexts) > 0 {
		return t.PlaceholderTexts[0]
	}
	return t.Type + " queued..."
}

// settleTargets brings every target of a finished job into its final state. It runs in the transaction that ends the
// job, so no finished job leaves an open target.
func settleTargets(ctx context.Context, tx database.Tx, transcripts Transcripts, job queue.Job, in Instruction) (
	[]journal.Event, error) {
	var all []journal.Event
	for _, target := range in.Targets {
		old, found, err := transcript.Store{}.Find(ctx, tx, in.SourceSessionID, target.MessageID)
		if err != nil {
			return nil, err
		}
		entry, changed := target.settle(old, found, job, in)
		if !changed {
			continue
		}
		events, err := transcripts.UpsertTranscriptIn(ctx, tx, in.SourceSessionID, entry)
		if err != nil {
			return nil, err
		}
		all = append(all, events...)
	}
	return all, nil
}

// settle returns the final entry of a target. It is a pure function: it keeps the worker's text and replaces a
// placeholder with the fallback.
func (t Target) settle(old transcript.Entry, found bool, job queue.Job, in Instruction) (transcript.Entry, bool) {
	if found && old.Status == transcript.Complete && job.State != queue.Completed {
		return old, false // settle only an entry that was not final before the job ended
	}
	entry := old
	if !found {
		entry = transcript.Entry{MessageID: t.MessageID, TurnID: in.TurnID, Role: "system", Type: t.Type,
			StartedAt: job.StartedAt}
	}
	if entry.Details == nil {
		entry.Details = in.details()
	}
	if t.isPlaceholder(entry.Content) {
		entry.Content = t.fallback(job)
	}
	entry.Status = finalStatus(job.State)
	if entry.CompletedAt == nil {
		entry.CompletedAt = job.CompletedAt
	}
	return entry, !found || !entry.Equal(old)
}

func finalStatus(state queue.State) transcript.Status {
	switch state {
	case queue.Completed:
		return transcript.Complete
	case queue.Canceled:
		return transcript.Canceled
	default:
		return transcript.Failed
	}
}

func (t Target) isPlaceholder(content string) bool {
	content = strings.ToLower(strings.TrimSpace(content))
	if content == "" || content == strings.ToLower(t.placeholder()) {
		return true
	}
	for _, text := range t.PlaceholderTexts {
		if content == strings.ToLower(strings.TrimSpace(text)) {
			return true
		}
	}
	return false
}

func (t Target) fallback(job queue.Job) string {
	reason := ""
	if job.Error != nil && *job.Error != "" {
		reason = " (" + *job.Error + ")"
	}
	switch job.State {
	case queue.Completed:
		return or(t.CompleteFallback, t.Type+" completed.")
	case queue.Canceled:
		return or(t.CanceledFallback, t.Type+" canceled.")
	default:
		return or(t.ErrorFallback, t.Type+" failed.") + reason
	}
}

func or(text, fallback string) string {
	if text == "" {
		return fallback
	}
	return text
}

// details returns the context of an entry as JSON.
func (in Instruction) details() *string {
	anchor := in.AnchorItemID
	if anchor == "" {
		anchor = in.ItemID
	}
	if anchor == "" && in.ApprovalID == "" {
		return nil
	}
	text, err := json.MarshalIndent(struct {
		AnchorItemID string `json:"anchorItemId,omitempty"`
		ApprovalID   string `json:"approvalId,omitempty"`
	}{anchor, in.ApprovalID}, "", "  ")
	if err != nil {
		return nil // two strings always encode
	}
	details := string(text)
	return &details
}

// outputID is the transcript entry that holds a worker's text.
func outputID(jobID string) string { return "agent-job-output::" + jobID }

// settleOutput writes the entry of a job that answers with a text: the text, or the reason why it is missing.
func settleOutput(ctx context.Context, tx database.Tx, transcripts Transcripts, job queue.Job, in Instruction) (
	[]journal.Event, error) {
	if in.ExpectResponse != ExpectText {
		return nil, nil
	}
	entry := transcript.Entry{MessageID: outputID(job.ID), TurnID: in.TurnID, Role: "system", Type: "agent.jobOutput",
		Details: in.details(), StartedAt: job.StartedAt, CompletedAt: job.CompletedAt, Status: finalStatus(job.State)}
	switch job.State {
	case queue.Completed:
		var result struct {
			OutputText string `json:"outputText"`
		}
		if err := json.Unmarshal(job.Result, &result); err != nil {
			return nil, err
		}
		entry.Content = result.OutputText
	case queue.Canceled:
		entry.Content = "Agent job canceled before completion."
	default:
		entry.Content = "Agent job failed."
		if job.Error != nil {
			entry.Content = "Agent job failed: " + *job.Error
		}
	}
	return transcripts.UpsertTranscriptIn(ctx, tx, in.SourceSessionID, entry)
}
