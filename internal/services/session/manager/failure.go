package manager

import (
	"context"
	"encoding/json"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/transcript"
)

// turnErrorPrefix begins the message id of the entry that tells why a turn failed; the turn's id follows.
const turnErrorPrefix = "turn-error-"

// sendAgain is what to do about a failure of which nothing better is known.
const sendAgain = "Send the message again."

// entryOfFailure is the entry that tells why a turn failed: the runtime's words, and what to do.
func entryOfFailure(turn turnRow, remedy string) transcript.Entry {
	if remedy == "" {
		remedy = sendAgain
	}
	entry := transcript.Entry{MessageID: turnErrorPrefix + turn.turnID, TurnID: turn.turnID, Role: "system",
		Type: "turn.error", Content: failureWords(turn.failure) + "\n\n" + remedy, Status: transcript.Failed}
	if turn.completedAt != 0 {
		entry.StartedAt, entry.CompletedAt = &turn.completedAt, &turn.completedAt
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

// turnFailed puts a turn's failure where readers see it, and tells those who read already.
func (s *Service) turnFailed(ctx context.Context, tx database.Tx, turn turnRow, remedy string) (
	[]journal.Event, error) {
	systemOwned, err := presence(ctx, tx, turn.sessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	entry, changed, err := s.entries.UpsertItem(ctx, tx, turn.sessionID, entryOfFailure(turn, remedy))
	if err != nil || !changed {
		return nil, err
	}
	event, _ := transcriptUpdated(turn.sessionID, &entry, turn.completedAt, systemOwned)
	return []journal.Event{event}, nil
}

// logFailure says once in the log that a turn failed.
func (s *Service) logFailure(record journal.Record) {
	var told struct {
		Entry transcript.Entry `json:"entry"`
	}
	if json.Unmarshal(record.Payload, &told) != nil || told.Entry.Type != "turn.error" {
		return
	}
	s.opts.Logger.Warn().Str("session", record.SessionID).Str("turn", told.Entry.TurnID).
		Str("error", strings.ReplaceAll(told.Entry.Content, "\n\n", " ")).Msg("a turn failed")
}
