package manager

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/wire"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// A runtime accepts a steered message immediately but passes it to the model later. If the turn is stopped in between,
// the runtime drops the message (codex does). Without this record, an accepted message would leave no trace.

// recordDropped stores the steered messages that a runtime dropped with its turn, as canceled entries at the turn's
// end. It runs before the turn is closed, because closing deletes the turn's input.
func recordDropped(ctx context.Context, tx database.Tx, turn store.Turn) ([]journal.Event, error) {
	if turn.Status != runtime.TurnInterrupted {
		return nil, nil // queued messages have continued
	}
	input, err := inputOf(ctx, tx, turn.SessionID, turn.TurnID)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	given := slices.Collect(strings.Lines(input))
	if len(given) < 2 {
		return nil, nil // only the message that started it
	}
	return storeDropped(ctx, tx, turn, given[1:])
}

// recordDroppedLate is recordDropped for a message whose turn was stopped before the message's acceptance was stored.
func recordDroppedLate(ctx context.Context, tx database.Tx, sessionID, turnID string, message session.Message) (
	[]journal.Event, error) {
	turn, known, err := store.ReadTurn(ctx, tx, sessionID, turnID)
	if err != nil || !known || turn.Status != runtime.TurnInterrupted {
		return nil, err
	}
	return storeDropped(ctx, tx, turn, []string{message.StoredInput()})
}

func storeDropped(ctx context.Context, tx database.Tx, turn store.Turn, given []string) ([]journal.Event, error) {
	systemOwned, err := store.IsSystemOwned(ctx, tx, turn.SessionID)
	if session.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var stored transcript.Store
	entries, err := stored.ListTurn(ctx, tx, turn.SessionID, turn.TurnID)
	if err != nil {
		return nil, err
	}
	var contents []string
	for _, entry := range entries {
		if entry.Type == wire.ItemUserMessage {
			contents = append(contents, entry.Content)
		}
	}
	var events []journal.Event
	for _, one := range given {
		content, err := contentOf(one)
		if err != nil {
			return nil, err
		}
		if i := slices.Index(contents, content); i >= 0 {
			contents = slices.Delete(contents, i, i+1)
			continue
		}
		at := turn.CompletedAt
		entry, changed, err := stored.UpsertItem(ctx, tx, turn.SessionID, transcript.Entry{
			MessageID: fmt.Sprintf("dropped-%s-%d", turn.TurnID, len(entries)), TurnID: turn.TurnID, Role: "user",
			Type: wire.ItemUserMessage, Content: content, Status: transcript.Canceled, StartedAt: &at, CompletedAt: &at})
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		if changed {
			event, _ := session.TranscriptUpdated(turn.SessionID, &entry, at, systemOwned)
			events = append(events, event)
		}
	}
	return events, nil
}

// contentOf returns the transcript content of a stored message.
func contentOf(kept string) (string, error) {
	var message session.TurnInput
	if err := json.Unmarshal([]byte(kept), &message); err != nil {
		return "", fmt.Errorf("read what a turn was asked: %w", err)
	}
	item, _ := wire.ReadItem(encode(struct {
		Type    string            `json:"type"`
		ID      string            `json:"id"`
		Content []json.RawMessage `json:"content"`
	}{wire.ItemUserMessage, "-", message.Input}))
	content := item.Content
	for _, part := range item.LongContent {
		content += wire.Text(part)
	}
	return content, nil
}
