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

// sendAgain is what to do about a failure of which nothing better is known.
const sendAgain = "Send the message again."

// entryOfFailure is the entry that reports why a turn failed: the runtime's words, and what to do.
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

// failureWords are those of a failure for a person: providers send theirs wrapped in JSON.
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

// turnFailed puts a turn's failure where readers see it, and reports those who read already.
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

// logFailure says once in the log that a turn failed.
func logFailure(log zerolog.Logger, record journal.Record) {
	var told struct {
		Entry transcript.Entry `json:"entry"`
	}
	if json.Unmarshal(record.Payload, &told) != nil || told.Entry.Type != "turn.error" {
		return
	}
	log.Warn().Str("session", record.SessionID).Str("turn", told.Entry.TurnID).
		Str("error", strings.ReplaceAll(told.Entry.Content, "\n\n", " ")).Msg("a turn failed")
}

// The events that report the audit log of errors of runtimes and their model providers. They show no frame.
const (
	eventTurnFailed   = "turn.failed"
	eventTurnRetrying = "turn.retrying"
)

// turnError is what is recorded of an error: what it is, and never its words, which may have a part of a key.
type turnError struct {
	TurnID  string `json:"turnId"`
	Runtime string `json:"runtime"`
	// Kind is "" when the runtime does not report. ProviderStatus is the HTTP status of the model provider, 0 when that is
	// not known.
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

// errorKind names the kind of a turn's error, "" for none. More than one may hold; the first that says what to do counts.
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
