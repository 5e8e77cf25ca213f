package items

import (
	"context"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// cancelItem ends the entry of an item that will not end, and keeps its text so far. It leaves entries that are final
// or that clients removed from their item, and then returns false.
func (i *Items) cancelItem(ctx context.Context, tx database.Tx, item store.RunningItem, at int64) (entry transcript.Entry,
	changed bool, err error) {
	if err := store.EndItem(ctx, tx, item.SessionID, item.MessageID); err != nil {
		return entry, false, err
	}
	entry, found, err := i.entries.Find(ctx, tx, item.SessionID, item.MessageID)
	if err != nil || !found || entry.Status != transcript.Streaming {
		return entry, false, err
	}
	if err := i.options.Reader.Grow(ctx, tx, item.SessionID, &entry); err != nil {
		return entry, false, err
	}
	entry.Status, entry.CompletedAt = transcript.Canceled, &at
	return i.entries.Upsert(ctx, tx, item.SessionID, entry)
}

// Cancel ends the unfinished items of a turn, except items that may outlive it. Those still receive text, and they end
// later, on their own or with their process.
func (i *Items) Cancel(ctx context.Context, tx database.Tx, turn store.Turn) error {
	if turn.Status != runtime.TurnInterrupted && turn.Status != runtime.TurnFailed {
		return nil // the turn left running items running
	}
	running, err := store.RunningItems(ctx, tx, turn.SessionID)
	if err != nil {
		return err
	}
	for _, item := range running {
		if item.TurnID != turn.TurnID || item.Outlives {
			continue
		}
		if _, _, err := i.cancelItem(ctx, tx, item, turn.CompletedAt); err != nil {
			return err
		}
	}
	return nil
}

// CancelLeft ends the items that ran in dead runtime processes after their turns ended. Clients have not received the
// end of these items.
func (i *Items) CancelLeft(ctx context.Context, tx database.Tx, node string, dead func(generation string) bool,
	at int64) (
	[]journal.Event, error) {
	running, err := store.RunningItemsOfNode(ctx, tx, node)
	if err != nil {
		return nil, err
	}
	var events []journal.Event
	for _, item := range running {
		if !dead(item.Generation) {
			continue
		}
		entry, changed, err := i.cancelItem(ctx, tx, item, at)
		if err != nil {
			return nil, err
		}
		if !changed {
			continue
		}
		systemOwned, err := store.IsSystemOwned(ctx, tx, item.SessionID)
		if session.Absent(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		event, _ := session.TranscriptUpdated(item.SessionID, &entry, at, systemOwned)
		events = append(events, event)
	}
	return events, nil
}
