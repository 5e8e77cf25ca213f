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
	"harness/transcript"
)

// turnRetryPrefix begins the message id of the entry that says a turn cannot reach its model; the turn's id follows.
const turnRetryPrefix = "turn-retry-"

// retryEntry is the type of that entry. Its status is error while the model does not answer.
const retryEntry = "turn.retrying"

// retryDetails are the parts of what the entry says.
type retryDetails struct {
	Attempt int    `json:"attempt"`
	Of      int    `json:"of,omitempty"`
	Reason  string `json:"reason"`
	Remedy  string `json:"remedy"`
}

// count words the number of the attempt.
func (r retryDetails) count() string {
	if r.Of == 0 {
		return fmt.Sprintf("attempt %d", r.Attempt)
	}
	return fmt.Sprintf("attempt %d of %d", r.Attempt, r.Of)
}

// answersAgain tells whether a signal is the first one in which the agent of a retrying turn goes on, and notes so.
// Service.order is held.
func (s *Service) answersAgain(signal runtime.Signal) bool {
	known, _ := s.view.peek(signal.ThreadID)
	if known.retrying == "" || !goesOn(signal.Change) {
		return false
	}
	s.view.change(signal.ThreadID, func(t *thread) { t.retrying = "" })
	return true
}

// retrying tells whether a batch is about a session whose turn cannot reach its model.
func (s *Service) retrying(batch runtime.Batch) bool {
	for _, signal := range batch.Signals {
		if known, _ := s.view.peek(signal.ThreadID); known.retrying != "" {
			return true
		}
	}
	return false
}

// loadRetrying notes of a thread read from the store whether its running turn cannot reach its model.
func (s *Service) loadRetrying(ctx context.Context, sessionID string, t *thread) error {
	entry, found, err := s.entries.Find(ctx, s.db.Read(), sessionID, turnRetryPrefix+t.activeTurn)
	if found && entry.Status == transcript.Failed {
		t.retrying = t.activeTurn
	}
	return err
}

// goesOn tells whether a change shows that the model has answered.
func goesOn(change runtime.Change) bool {
	switch change := change.(type) {
	case runtime.TextDelta, runtime.InteractiveRequested:
		return true
	case runtime.ItemChanged:
		return change.Item.Type != wire.ItemUserMessage
	}
	return false
}

// turnRetrying stores the latest attempt of a turn to reach its model, and tells clients.
func (s *Service) turnRetrying(ctx context.Context, tx database.Tx, a arrival, change runtime.TurnRetrying,
	systemOwned bool) ([]journal.Event, error) {
	turnID := a.meta.TurnID
	if turnID == "" {
		return nil, nil // no turn is known that could be shown
	}
	now := retryDetails{Attempt: change.Attempt, Of: change.Of, Reason: failureWords(change.Reason), Remedy: change.Remedy}
	if now.Attempt == 0 {
		before, _, err := s.entries.Find(ctx, tx, a.signal.ThreadID, turnRetryPrefix+turnID)
		if err != nil {
			return nil, err
		}
		now.Attempt = detailsOfRetry(before).Attempt + 1
	}
	details := indented(encode(now))
	entry, changed, err := s.entries.UpsertItem(ctx, tx, a.signal.ThreadID, transcript.Entry{
		MessageID: turnRetryPrefix + turnID, TurnID: turnID, Role: "system", Type: retryEntry, Details: &details,
		Content:   "The model does not answer (" + now.count() + "): " + now.Reason + "\n\n" + now.Remedy,
		StartedAt: &a.receivedAt, Status: transcript.Failed})
	if err != nil || !changed {
		return nil, err
	}
	event, _ := transcriptUpdated(a.signal.ThreadID, &entry, a.receivedAt, systemOwned)
	return []journal.Event{event, a.turnError(eventTurnRetrying, turnError{TurnID: turnID,
		ProviderStatus: change.ProviderStatus, Attempt: now.Attempt, Of: now.Of})}, nil
}

func detailsOfRetry(entry transcript.Entry) (details retryDetails) {
	if entry.Details != nil {
		_ = json.Unmarshal([]byte(*entry.Details), &details) // a client may have changed the entry
	}
	return details
}

// modelAnswers is the unit that says a turn's model answers again.
func (s *Service) modelAnswers(signal runtime.Signal, turnID string) journal.Unit {
	at := signal.ReceivedAt.UnixMilli()
	return func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return s.endRetry(ctx, tx, turnRow{sessionID: signal.ThreadID, turnID: turnID, status: runtime.TurnInProgress,
			completedAt: at})
	}
}

// endRetry ends what is said of a turn's attempts to reach its model: the model answers, or the turn is over.
func (s *Service) endRetry(ctx context.Context, tx database.Tx, turn turnRow) ([]journal.Event, error) {
	entry, found, err := s.entries.Find(ctx, tx, turn.sessionID, turnRetryPrefix+turn.turnID)
	if err != nil || !found || entry.Type != retryEntry || entry.Status != transcript.Failed {
		return nil, err
	}
	systemOwned, err := presence(ctx, tx, turn.sessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	said := detailsOfRetry(entry)
	entry.Content, _, _ = strings.Cut(entry.Content, "\n\n"+said.Remedy) // the agent tries no more
	switch turn.status {
	case runtime.TurnInterrupted:
		entry.Status = transcript.Canceled
	case runtime.TurnFailed:
	default:
		entry.Status = transcript.Complete
		entry.Content = "The model answered after " + said.count() + ". Before, it failed: " + said.Reason
	}
	entry.CompletedAt = &turn.completedAt
	entry, changed, err := s.entries.UpsertItem(ctx, tx, turn.sessionID, entry)
	if err != nil || !changed {
		return nil, err
	}
	event, _ := transcriptUpdated(turn.sessionID, &entry, turn.completedAt, systemOwned)
	return []journal.Event{event}, nil
}
