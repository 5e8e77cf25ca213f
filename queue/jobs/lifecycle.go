package jobs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"harness/queue"
	"harness/transcript"
)

// phase is one turn in the worker's own transcript: one entry that first shows the work and then its outcome, with
// codex-manager's wording.
type phase struct {
	id            string // part of the entry's id, between its prefix and the turn
	running, name string
	details       []detail
}

// detail is a member of an entry's details, which keep their order.
type detail struct {
	name  string
	value any
}

func orientationPhase(one worker) phase {
	return phase{id: "core-orientation", running: "Running core queue-runner orientation turn.",
		name: "Core queue-runner orientation", details: []detail{{"phase", "core_orientation"}, {"projectId", one.owner},
			{"agent", one.agent}}}
}

func bootstrapPhase(one worker, key string) phase {
	return phase{id: "extension-bootstrap::" + key, running: "Running extension bootstrap instruction (" + key + ").",
		name: "Extension bootstrap instruction", details: []detail{{"phase", "extension_bootstrap"}, {"projectId", one.owner},
			{"agent", one.agent}, {"bootstrapKey", key}}}
}

func jobPhase(jobID string, in Instruction) phase {
	details := []detail{{"phase", "job_execution"}, {"agent", in.Agent}, {"jobKind", in.JobKind},
		{"projectId", in.ProjectID}, {"sourceSessionId", in.SourceSessionID}, {"sourceTurnId", in.TurnID}}
	for _, optional := range []detail{{"approvalId", in.ApprovalID}, {"itemId", in.ItemID},
		{"anchorItemId", in.AnchorItemID}} {
		if optional.value != "" {
			details = append(details, optional)
		}
	}
	return phase{id: "job::" + jobID, running: `Processing queue job "` + in.JobKind + `".`,
		name: `Queue job "` + in.JobKind + `"`, details: append(details, detail{"queueJobId", jobID})}
}

// outcome returns the text for the end of a phase: "Queue job "x" completed.", with the key of a bootstrap after the
// verb.
func (p phase) outcome(verb, rest string) string {
	if key, ok := strings.CutPrefix(p.id, "extension-bootstrap::"); ok {
		verb += " (" + key + ")"
	}
	return p.name + " " + verb + rest
}

// noteTime bounds the write of an entry: a job does not wait for a store that refuses the write.
const noteTime = 2 * time.Second

// noted runs a phase and records it in the transcript. do calls began with its turn; without a turn, noted writes no
// entry.
func (a *agents) noted(ctx context.Context, one worker, p phase, do func(began func(step)) error) error {
	var (
		started time.Time
		entry   transcript.Entry
	)
	put := func(status transcript.Status, content string, more ...detail) {
		text := encodeDetails(append(slices.Clone(p.details), more...))
		entry.Status, entry.Content, entry.Details = status, content, &text
		// Write the last status even if the job was canceled.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteTime)
		defer cancel()
		if err := a.Sessions.UpsertTranscript(ctx, one.sessionID, entry); err != nil && !stale(err) {
			a.Logger.Warn().Err(err).Str("session", one.sessionID).Msg("cannot write an entry of a worker's transcript")
		}
	}
	err := do(func(s step) {
		at := s.At
		started = time.UnixMilli(at)
		entry = transcript.Entry{MessageID: "agent-worker-lifecycle::" + p.id + "::" + s.TurnID, TurnID: s.TurnID,
			Role: "system", Type: "agent.worker.lifecycle", StartedAt: &at}
		put(transcript.Streaming, p.running)
	})
	if started.IsZero() || left(err) { // the process that resumes the turn records its end
		return err
	}
	now := a.Clock().UnixMilli()
	entry.CompletedAt = &now
	took := detail{"durationMs", now - *entry.StartedAt}
	switch {
	case err == nil:
		put(transcript.Complete, p.outcome("completed", "."), took)
	case errors.Is(err, errInterrupted) || errors.Is(err, queue.ErrCanceled) || errors.Is(err, queue.ErrShutdown):
		put(transcript.Canceled, p.outcome("canceled", "."), detail{"error", err.Error()}, took)
	default:
		put(transcript.Failed, p.outcome("failed", ": "+err.Error()), detail{"error", err.Error()}, took)
	}
	return err
}

// encodeDetails encodes details as a JSON object with its members in order.
func encodeDetails(details []detail) string {
	var out strings.Builder
	for i, d := range details {
		if i > 0 {
			out.WriteString(",")
		}
		out.WriteString("\n  " + string(encode(d.name)) + ": " + string(encode(d.value)))
	}
	return "{" + out.String() + "\n}"
}
