package manager

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/services/session"
	"harness/transcript"
)

// typeTurnStopped is the type of the entry that says who stopped a turn, and when.
const typeTurnStopped = "turn.stopped"

// turnStoppedPrefix begins the message id of that entry; the turn's id follows.
const turnStoppedPrefix = "turn-stopped-"

// recordStop keeps that a turn was stopped: as an event, and as an entry where readers see it.
func (s *Service) recordStop(ctx context.Context, sessionID, turnID string) error {
	at, actor := s.now(), s.journal.Actor(ctx)
	return s.record(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		events := []journal.Event{turnStopped(sessionID, turnID, at)}
		systemOwned, err := presence(ctx, tx, sessionID)
		if session.Absent(err) {
			return events, nil
		}
		if err != nil {
			return nil, err
		}
		entry, changed, err := s.entries.UpsertItem(ctx, tx, sessionID, entryOfStop(turnID, actor, at))
		if err != nil || !changed {
			return events, err
		}
		event, _ := transcriptUpdated(sessionID, &entry, at, systemOwned)
		return append(events, event), nil
	})
}

// entryOfStop is the entry that says who stopped a turn; actor is "" for the server itself.
func entryOfStop(turnID, actor string, at int64) transcript.Entry {
	content := "Stopped"
	if actor != "" {
		content += " by " + actor
	}
	details := indented(encode(struct {
		StoppedBy string `json:"stoppedBy,omitempty"`
		StoppedAt string `json:"stoppedAt"`
	}{actor, isoTime(at)}))
	return transcript.Entry{MessageID: turnStoppedPrefix + turnID, TurnID: turnID, Role: "system", Type: typeTurnStopped,
		Content: content, Details: &details, StartedAt: &at, CompletedAt: &at, Status: transcript.Complete}
}
