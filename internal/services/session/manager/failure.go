package manager

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/rs/zerolog"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// sendAgain is the remedy for a failure without a more specific one.
const sendAgain = "Send the message again."

// entryOfFailure returns the transcript entry of a failed turn: the runtime's message, and the remedy.
func entryOfFailure(turn store.Turn, remedy string) transcript.Entry {
	if remedy == "" {
		remedy = sendAgain
	}
	entry := transcript.Entry{MessageID: session.TurnErrorPrefix + turn.TurnID, TurnID: turn.TurnID, Role: "system",
		Type: "turn.error", Content: failureWords(turn.Error) + "\n\n" + remedy, Status: transcript.Failed}
	if turn.CompletedAt != 0 {
		entry.StartedAt, entry.CompletedAt = &turn.CompletedAt, &turn.CompletedAt
	}
	return entry
}

// failureWords returns the readable message of a failure: providers wrap theirs in JSON.
func failureWords(failure string) string {
	var wrapped struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal([]byte(failure), &wrapped) == nil && wrapped.Error.Message != "" {
		failure = wrapped.Error.Message
	}
	if failure = strings.TrimSpace(failure); failure == "" {
		return "The turn failed, and the runtime did not say why."
	}
	return failure
}

// turnFailed stores a turn's failure as an entry, and notifies connected readers.
func turnFailed(ctx context.Context, tx database.Tx, turn store.Turn, remedy string) (
	[]journal.Event, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, turn.SessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entry, changed, err := transcript.Store{}.UpsertItem(ctx, tx, turn.SessionID, entryOfFailure(turn, remedy))
	if err != nil || !changed {
		return nil, err
	}
	event, _ := session.TranscriptUpdated(turn.SessionID, &entry, turn.CompletedAt, systemOwned)
	return []journal.Event{event}, nil
}

// logFailure logs a failed turn once.
func logFailure(log zerolog.Logger, record journal.Record) {
	var payload struct {
		Entry transcript.Entry `json:"entry"`
	}
	if json.Unmarshal(record.Payload, &payload) != nil || payload.Entry.Type != "turn.error" {
		return
	}
	log.Warn().Str("session", record.SessionID).Str("turn", payload.Entry.TurnID).
		Str("error", strings.ReplaceAll(payload.Entry.Content, "\n\n", " ")).Msg("a turn failed")
}

// The audit events for errors of runtimes and their model providers. Clients receive no frame for them.
const (
	eventTurnFailed   = "turn.failed"
	eventTurnRetrying = "turn.retrying"
)

// turnError records the kind of an error, but never its message, which may contain part of a key.
type turnError struct {
	TurnID  string `json:"turnId"`
	Runtime string `json:"runtime"`
	// Kind is "" when the runtime does not report it. ProviderStatus is the HTTP status of the model provider, 0 if
	// unknown.
	Kind           string `json:"kind,omitempty"`
	ProviderStatus int    `json:"providerStatus,omitempty"`
	// Attempt and Of count the retries of the runtime.
	Attempt int `json:"attempt,omitempty"`
	Of      int `json:"of,omitempty"`
}

func (a arrival) turnError(kind string, about turnError) journal.Event {
	about.Runtime = a.runtime
	return journal.Event{SessionID: a.signal.ThreadID, TurnID: about.TurnID, Type: kind, Time: a.receivedAt, Source: session.EventSource,
		Payload: encode(about)}
}

// errorKind returns the kind of a turn's error, "" for none. If there are several, the first with a remedy counts.
func errorKind(kind error) string {
	for _, known := range []struct {
		kind error
		name string
	}{
		{runtime.ErrAuthRequired, "auth_required"}, {runtime.ErrLimitReached, "limit_reached"},
		{runtime.ErrTooLarge, "too_large"}, {runtime.ErrProviderTimeout, "provider_timeout"},
		{runtime.ErrProvider, "provider_failed"}, {runtime.ErrTransient, "transient"},
		{runtime.ErrInvalidParams, "refused"}, {runtime.ErrInvalidState, "refused"}, {runtime.ErrNotFound, "not_found"},
		{runtime.ErrTimeout, "timeout"}, {runtime.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(kind, known.kind) {
			return known.name
		}
	}
	return ""
}
