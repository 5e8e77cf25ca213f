package manager

import (
	"context"
	"encoding/json"
	"errors"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/runtime/jsonobject"
	"harness/internal/services/session"
	"harness/internal/services/session/entryof"
	"harness/internal/services/session/store"
	"harness/transcript"
)

// importHistory reads a session's history from the runtime and stores it.
func (s *importer) importHistory(ctx context.Context, session session.Session, historian runtime.History) error {
	asked := s.options.Now()
	t, err := historian.ReadThread(ctx, session.RuntimeSessionID, true)
	if err != nil && !errors.Is(err, runtime.ErrThreadNotFound) {
		return err
	}
	return s.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := store.IsSystemOwned(ctx, tx, session.ID); err != nil {
			return nil, journal.Refuse(err)
		}
		turns, err := s.importedTurns(ctx, tx, session.ID, t.Turns)
		if err != nil {
			return nil, err
		}
		if err := s.entries.Import(ctx, tx, session.ID, turns); err != nil {
			return nil, err
		}
		if err := s.importRows(ctx, tx, session, t); err != nil {
			return nil, err
		}
		return nil, store.UpdateSession(ctx, tx, session.ID, `history_at = $2`, asked)
	})
}

// importRows stores the turns' data that is not part of their entries. The runtime itself reports a running turn of
// this server.
func (s *importer) importRows(ctx context.Context, tx database.Tx, session session.Session, t runtime.Thread) error {
	stored, err := store.ReadTurns(ctx, tx, session.ID)
	if err != nil {
		return err
	}
	known := make(map[string]store.Turn, len(stored))
	for _, turn := range stored {
		known[turn.TurnID] = turn
	}
	for _, turn := range t.Turns {
		row := store.Turn{SessionID: session.ID, TurnID: turn.ID, Status: turn.Status, Error: turn.Error,
			NodeID: s.options.NodeID, StartedAt: turn.StartedAt, CompletedAt: turn.CompletedAt, Native: turn.Native}
		before, has := known[turn.ID]
		switch {
		case has && (before.Status == runtime.TurnInProgress || len(before.Native) > 0):
		case has:
			before.Native = turn.Native
			err = store.CloseTurn(ctx, tx, before)
		case turn.Status != runtime.TurnInProgress:
			err = store.CloseTurn(ctx, tx, row)
		}
		if err != nil {
			return err
		}
		for _, item := range turn.Items {
			if err := store.StoreMessage(ctx, tx, session.ID, item); err != nil {
				return err
			}
		}
	}
	if len(t.Raw) == 0 {
		return nil
	}
	return storeThread(ctx, tx, session.ID, t)
}

// importedTurns converts a history's turns to transcript entries. An item without times gets its turn's times.
func (s *importer) importedTurns(ctx context.Context, tx database.Tx, sessionID string, turns []runtime.Turn) (
	[]transcript.Turn, error) {
	out := make([]transcript.Turn, 0, len(turns))
	for _, turn := range turns {
		imported := transcript.Turn{ID: turn.ID}
		for _, item := range turn.Items {
			entry := transcript.Entry{MessageID: item.ID, TurnID: turn.ID, Role: item.Role, Type: item.Type,
				Content: item.Content, StartedAt: instant(item.StartedAt, turn.StartedAt),
				CompletedAt: instant(item.CompletedAt, turn.CompletedAt), Status: transcript.Complete}
			entryof.SetDetails(&entry, item)
			if err := s.options.Items.ShowImages(ctx, tx, sessionID, &entry, item); err != nil {
				return nil, err
			}
			imported.Entries = append(imported.Entries, entry.Whole())
		}
		if turn.Status == runtime.TurnFailed {
			imported.Entries = append(imported.Entries,
				entryOfFailure(store.Turn{SessionID: sessionID, TurnID: turn.ID, Error: turn.Error,
					CompletedAt: turn.CompletedAt}, turn.Remedy))
		}
		out = append(out, imported)
	}
	return out, nil
}

// instant returns the first known one of the times (ms).
func instant(times ...int64) *int64 {
	for _, at := range times {
		if at != 0 {
			return &at
		}
	}
	return nil
}

// withoutTurns removes the history from a runtime's description of a conversation.
func withoutTurns(raw json.RawMessage) json.RawMessage {
	fields := jsonobject.Parse(raw)
	if turns := fields.Get("turns"); turns == nil || string(turns) == "[]" {
		return raw
	}
	return fields.Set("turns", json.RawMessage("[]")).Encode()
}

// refreshDescription reads the runtime's current description of a session: a turn may change the session's folder and
// model.
func (s *importer) refreshDescription(ctx context.Context, runtimeName, sessionID string) error {
	adapter, err := s.options.Runtimes.Adapter(runtimeName)
	if err != nil {
		return err
	}
	stored, err := store.ReadSession(ctx, s.options.DB.Read(), sessionID)
	if session.Absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	historian, ok := runtime.Has[runtime.History](adapter, runtime.OpHistory)
	if !ok {
		return nil
	}
	t, err := historian.ReadThread(ctx, stored.RuntimeSessionID, false)
	if err != nil || len(t.Raw) == 0 || string(withoutTurns(t.Raw)) == string(stored.Thread) {
		return err
	}
	return s.options.Journal.Do(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, storeThread(ctx, tx, sessionID, t)
	})
}
