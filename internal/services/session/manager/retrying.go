package manager

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/live"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// retryEntry is the type of the entry of a retrying turn. Its status is error while the model does not answer.
const retryEntry = "turn.retrying"

// retryDetails are the values in the entry's text.
type retryDetails struct {
	Attempt int    `json:"attempt"`
	Of      int    `json:"of,omitempty"`
	Reason  string `json:"reason"`
	Remedy  string `json:"remedy"`
}

// count formats the number of the attempt.
func (r retryDetails) count() string {
	if r.Of == 0 {
		return fmt.Sprintf("attempt %d", r.Attempt)
	}
	return fmt.Sprintf("attempt %d of %d", r.Attempt, r.Of)
}

// answersAgain reports and records that a signal is the first output of an agent whose turn was retrying.
// Service.order is held.
func (s *Service) answersAgain(signal runtime.Signal) bool {
	known, _ := s.index.Peek(signal.ThreadID)
	if known.Retrying == "" || !goesOn(signal.Change) {
		return false
	}
	s.index.Update(signal.ThreadID, func(t *live.Session) { t.Retrying = "" })
	return true
}

// retrying reports whether a batch is about a session whose turn cannot reach its model.
func (s *Service) retrying(batch runtime.Batch) bool {
	for _, signal := range batch.Signals {
		if known, _ := s.index.Peek(signal.ThreadID); known.Retrying != "" {
			return true
		}
	}
	return false
}

// loadRetrying loads from the store whether the running turn of a session cannot reach its model.
func (s *Service) loadRetrying(ctx context.Context, sessionID string, t *live.Session) error {
	entry, found, err := s.entries.Find(ctx, s.db.Read(), sessionID, session.TurnRetryPrefix+t.ActiveTurn)
	if found && entry.Status == transcript.Failed {
		t.Retrying = t.ActiveTurn
	}
	return err
}

// goesOn reports whether a change proves that the model answered.
func goesOn(change runtime.Change) bool {
	switch change := change.(type) {
	case runtime.TextDelta, runtime.InteractiveRequested:
		return true
	case runtime.ItemChanged:
		return change.Item.Type != wire.ItemUserMessage
	}
	return false
}

// turnRetrying stores a turn's latest attempt to reach its model, and notifies clients.
func (s *Service) turnRetrying(ctx context.Context, tx database.Tx, a arrival, change runtime.TurnRetrying,
	systemOwned bool) ([]journal.Event, error) {
	turnID := a.meta.TurnID
	if turnID == "" {
		return nil, nil // no turn is known
	}
	now := retryDetails{Attempt: change.Attempt, Of: change.Of, Reason: failureWords(change.Reason), Remedy: change.Remedy}
	if now.Attempt == 0 {
		before, _, err := s.entries.Find(ctx, tx, a.signal.ThreadID, session.TurnRetryPrefix+turnID)
		if err != nil {
			return nil, err
		}
		now.Attempt = detailsOfRetry(before).Attempt + 1
	}
	details := transcript.Indented(encode(now))
	entry, changed, err := s.entries.UpsertItem(ctx, tx, a.signal.ThreadID, transcript.Entry{
		MessageID: session.TurnRetryPrefix + turnID, TurnID: turnID, Role: "system", Type: retryEntry, Details: &details,
		Content:   "The model does not answer (" + now.count() + "): " + now.Reason + "\n\n" + now.Remedy,
		StartedAt: &a.receivedAt, Status: transcript.Failed})
	if err != nil || !changed {
		return nil, err
	}
	event, _ := session.TranscriptUpdated(a.signal.ThreadID, &entry, a.receivedAt, systemOwned)
	return []journal.Event{event, a.turnError(eventTurnRetrying, turnError{TurnID: turnID,
		ProviderStatus: change.ProviderStatus, Attempt: now.Attempt, Of: now.Of})}, nil
}

func detailsOfRetry(entry transcript.Entry) (details retryDetails) {
	if entry.Details != nil {
		_ = json.Unmarshal([]byte(*entry.Details), &details) // a client may have changed the entry
	}
	return details
}

// modelAnswers is the unit for a turn whose model answers again.
func (s *Service) modelAnswers(signal runtime.Signal, turnID string) journal.Unit {
	at := signal.ReceivedAt.UnixMilli()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return s.endRetry(ctx, tx, store.Turn{SessionID: signal.ThreadID, TurnID: turnID, Status: runtime.TurnInProgress,
			CompletedAt: at})
	}
}

// endRetry ends the entry about a turn's attempts to reach its model: the model answers, or the turn has ended.
func (s *Service) endRetry(ctx context.Context, tx database.Tx, turn store.Turn) ([]journal.Event, error) {
	entry, found, err := s.entries.Find(ctx, tx, turn.SessionID, session.TurnRetryPrefix+turn.TurnID)
	if err != nil || !found || entry.Type != retryEntry || entry.Status != transcript.Failed {
		return nil, err
	}
	systemOwned, err := store.IsSystemOwned(ctx, tx, turn.SessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	said := detailsOfRetry(entry)
	entry.Content, _, _ = strings.Cut(entry.Content, "\n\n"+said.Remedy) // the agent no longer tries
	switch turn.Status {
	case runtime.TurnInterrupted:
		entry.Status = transcript.Canceled
	case runtime.TurnFailed:
	default:
		entry.Status = transcript.Complete
		entry.Content = "The model answered after " + said.count() + ". Before, it failed: " + said.Reason
	}
	entry.CompletedAt = &turn.CompletedAt
	entry, changed, err := s.entries.UpsertItem(ctx, tx, turn.SessionID, entry)
	if err != nil || !changed {
		return nil, err
	}
	event, _ := session.TranscriptUpdated(turn.SessionID, &entry, turn.CompletedAt, systemOwned)
	return []journal.Event{event}, nil
}
