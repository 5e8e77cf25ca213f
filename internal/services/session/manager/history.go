package manager

import (
	"context"
	"errors"
	"fmt"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
	"harness/internal/runtime"
	"harness/internal/services/session"
	"harness/transcript"
)

// importHistory asks the runtime for its history of a session and stores it.
func (s *Service) importHistory(ctx context.Context, session session.Session, historian runtime.Historian) error {
	asked := s.now()
	t, err := historian.ReadThread(ctx, session.RuntimeSessionID, true)
	if err != nil && !errors.Is(err, runtime.ErrThreadNotFound) {
		return err
	}
	return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		if _, err := presence(ctx, tx, session.ID); err != nil {
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
		return nil, updateSession(ctx, tx, session.ID, `history_at = $2`, asked)
	})
}

// importRows stores what is known of the turns beside their entries. A turn that still runs is told of by its runtime,
// if it is ours.
func (s *Service) importRows(ctx context.Context, tx database.Tx, session session.Session, t runtime.Thread) error {
	stored, err := readTurns(ctx, tx, session.ID)
	if err != nil {
		return err
	}
	known := make(map[string]turnRow, len(stored))
	for _, turn := range stored {
		known[turn.turnID] = turn
	}
	for _, turn := range t.Turns {
		row := turnRow{sessionID: session.ID, turnID: turn.ID, status: turn.Status, failure: turn.Error,
			nodeID: s.opts.NodeID, startedAt: turn.StartedAt, completedAt: turn.CompletedAt, native: turn.Native}
		before, has := known[turn.ID]
		switch {
		case has && (before.status == runtime.TurnInProgress || len(before.native) > 0):
		case has:
			before.native = turn.Native
			err = closeTurn(ctx, tx, before)
		case turn.Status != runtime.TurnInProgress:
			err = closeTurn(ctx, tx, row)
		}
		if err != nil {
			return err
		}
		for _, item := range turn.Items {
			if err := storeMessage(ctx, tx, session.ID, item); err != nil {
				return err
			}
		}
	}
	if len(t.Raw) == 0 {
		return nil
	}
	return storeThread(ctx, tx, session.ID, t)
}

// importedTurns are a history's turns as transcript entries. An item without times of its own has its turn's.
func (s *Service) importedTurns(ctx context.Context, tx database.Tx, sessionID string, turns []runtime.Turn) (
	[]transcript.Turn, error) {
	out := make([]transcript.Turn, 0, len(turns))
	for _, turn := range turns {
		imported := transcript.Turn{ID: turn.ID}
		for _, item := range turn.Items {
			entry := transcript.Entry{MessageID: item.ID, TurnID: turn.ID, Role: item.Role, Type: item.Type,
				Content: item.Content, StartedAt: instant(item.StartedAt, turn.StartedAt),
				CompletedAt: instant(item.CompletedAt, turn.CompletedAt), Status: transcript.Complete}
			setDetails(&entry, item)
			if err := s.showImages(ctx, tx, sessionID, &entry, item); err != nil {
				return nil, err
			}
			imported.Entries = append(imported.Entries, entry.Whole())
		}
		if turn.Status == runtime.TurnFailed {
			imported.Entries = append(imported.Entries,
				entryOfFailure(turnRow{sessionID: sessionID, turnID: turn.ID, failure: turn.Error,
					completedAt: turn.CompletedAt}, turn.Remedy))
		}
		out = append(out, imported)
	}
	return out, nil
}

// instant is the first of the times (ms) that is known.
func instant(times ...int64) *int64 {
	for _, at := range times {
		if at != 0 {
			return &at
		}
	}
	return nil
}

// storeMessage keeps a message as the runtime describes it. Other items are described by their entries' details.
func storeMessage(ctx context.Context, tx database.Tx, sessionID string, item runtime.Item) error {
	if len(item.Native) == 0 {
		return nil
	}
	key := []any{database.EncodeText(sessionID), database.EncodeText(item.ID)}
	native, parts := "", messageParts(key)
	if len(item.Native) <= database.PartBytes {
		native = string(item.Native)
	}
	_, err := tx.ExecContext(ctx, `insert into runtime_messages (session_id, message_id, native) values ($1, $2, $3)
		on conflict (session_id, message_id) do update set native = excluded.native`, append(key, native)...)
	if err != nil {
		return fmt.Errorf("store message %s as its runtime describes it: %w", item.ID, err)
	}
	if native != "" {
		return nil // parts of an earlier word of it are not looked at
	}
	if err := database.DeleteParts(ctx, tx, parts); err != nil {
		return err
	}
	return database.WriteParts(ctx, tx, parts, database.Parts(item.Native))
}

// messageParts names the parts of a message by its key in runtime_messages.
func messageParts(key []any) database.PartKey {
	return database.PartKey{Table: "message_parts", Columns: []string{"session", "message"}, Values: key}
}
