package session

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"harness/database"
	"harness/journal"
	"harness/runtime"
	"harness/transcript"
)

// describer is an adapter that can tell from what is stored how its runtime would describe a conversation now.
type describer interface {
	Describe(raw json.RawMessage, state runtime.ThreadState) json.RawMessage
}

// describeThread is the runtime's description of a session as of now, without asking it. entries are the session's, of
// a whole read; a description without turns needs none.
func (s *Service) describeThread(ctx context.Context, q database.Querier, session Session, entries []transcript.Entry,
	turns []turnRow, whole bool,
) (json.RawMessage, error) {
	var words describer
	if adapter, err := s.adapter(session.Runtime); err == nil {
		words, _ = adapter.(describer) // one that is not configured any more says nothing new
	}
	if words == nil || string(session.Thread) == placeholderThread {
		return session.Thread, nil
	}
	now := session.Activity
	state := runtime.ThreadState{ID: session.RuntimeSessionID, Title: session.Title, UpdatedAt: session.UpdatedAt,
		Running: now.ActiveTurnID != "", Failed: now.State == StateError}
	if now.PendingCount > 0 {
		pending, err := pendingOfSession(ctx, q, session.ID)
		if err != nil {
			return nil, err
		}
		for _, request := range pending {
			if !slices.Contains(state.Waiting, request.Kind) {
				state.Waiting = append(state.Waiting, request.Kind)
			}
		}
	}
	var err error
	if state.Opening, err = s.opening(ctx, q, session.ID); err != nil {
		return nil, err
	}
	if whole {
		messages, err := readMessages(ctx, q, session.ID)
		if err != nil {
			return nil, err
		}
		gone, err := s.entries.RolledBack(ctx, q, session.ID)
		if err != nil {
			return nil, err
		}
		there := slices.DeleteFunc(slices.Clone(turns), func(turn turnRow) bool { return gone[turn.turnID] })
		state.Turns = nativeTurns(entries, there, messages)
	}
	return words.Describe(session.Thread, state), nil
}

// refreshDescription asks the runtime what it says of a session by now: where it works and with what model may change
// with a turn.
func (s *Service) refreshDescription(ctx context.Context, runtimeName, sessionID string) error {
	adapter, err := s.adapter(runtimeName)
	if err != nil {
		return err
	}
	stored, err := readSession(ctx, s.db.Read(), sessionID)
	if absent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	historian, ok := runtime.Has[runtime.Historian](adapter, runtime.OpHistory)
	if !ok {
		return nil
	}
	t, err := historian.ReadThread(ctx, stored.RuntimeSessionID, false)
	if err != nil || len(t.Raw) == 0 || string(withoutTurns(t.Raw)) == string(stored.Thread) {
		return err
	}
	return s.commit(ctx, func(ctx context.Context, tx database.Tx) ([]journal.Event, error) {
		return nil, storeThread(ctx, tx, sessionID, t)
	})
}

// opening is the message a session began with, "" when it began with something else.
func (s *Service) opening(ctx context.Context, q database.Querier, sessionID string) (string, error) {
	first, there, err := s.entries.First(ctx, q, sessionID)
	if err != nil || !there || first.Role != "user" {
		return "", err
	}
	return first.Content, nil
}

// readMessages reads a session's messages as their runtime describes them, by id.
func readMessages(ctx context.Context, q database.Querier, sessionID string) (map[string]json.RawMessage, error) {
	messages, session := map[string]json.RawMessage{}, database.EncodeText(sessionID)
	var long []string
	err := database.ReadEach(ctx, q, "read the messages of session "+sessionID, func(row database.Row) error {
		var id, native string
		err := row.Scan(&id, &native)
		messages[database.DecodeText(id)] = json.RawMessage(native)
		if native == "" {
			long = append(long, id)
		}
		return err
	}, `select message_id, native from runtime_messages where session_id = $1`, session)
	for _, id := range long {
		if err == nil {
			messages[database.DecodeText(id)], err = database.ReadParts(ctx, q, messageParts([]any{session, id}))
		}
	}
	return messages, err
}

// nativeTurns are a session's turns with the items that ended, in the order of the transcript.
func nativeTurns(entries []transcript.Entry, stored []turnRow, messages map[string]json.RawMessage) []runtime.Turn {
	rows := make(map[string]turnRow, len(stored))
	for _, turn := range stored {
		rows[turn.turnID] = turn
	}
	var turns []runtime.Turn
	at := map[string]int{}
	add := func(row turnRow) {
		at[row.turnID] = len(turns)
		turns = append(turns, runtime.Turn{ID: row.turnID, Status: row.status, Error: row.failure, StartedAt: row.startedAt,
			CompletedAt: row.completedAt, Native: row.native})
	}
	for i := range entries {
		entry := &entries[i]
		row, known := rows[entry.TurnID]
		if !known {
			continue
		}
		if _, has := at[entry.TurnID]; !has {
			add(row)
		}
		if item, is := nativeItem(entry, messages[entry.MessageID]); is {
			turn := &turns[at[entry.TurnID]]
			turn.Items = append(turn.Items, item)
		}
	}
	slices.SortFunc(stored, func(a, b turnRow) int {
		if a.startedAt != b.startedAt {
			return int(a.startedAt - b.startedAt)
		}
		return strings.Compare(a.turnID, b.turnID)
	})
	for _, row := range stored {
		if _, has := at[row.turnID]; !has {
			add(row)
		}
	}
	return turns
}

// nativeItem is an entry as the runtime describes it; false when it is no item of the runtime that ended.
func nativeItem(entry *transcript.Entry, message json.RawMessage) (runtime.Item, bool) {
	if entry.Status != transcript.Complete {
		return runtime.Item{}, false
	}
	if message != nil {
		return runtime.Item{Native: message}, true
	}
	if entry.Details == nil {
		return runtime.Item{}, false
	}
	var described struct{ ID, Type string }
	if json.Unmarshal([]byte(*entry.Details), &described) != nil || described.ID != entry.MessageID ||
		described.Type != entry.Type {
		return runtime.Item{}, false
	}
	return runtime.Item{Details: *entry.Details}, true
}
