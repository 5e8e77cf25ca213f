package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"harness/internal/platform/database"
	"harness/internal/runtime"
)

// ReadMessages reads messages of a session in their runtime's form, by id.
func ReadMessages(ctx context.Context, q database.Querier, sessionID string, ids []string) (map[string]json.RawMessage, error) {
	messages := map[string]json.RawMessage{}
	if len(ids) == 0 {
		return messages, nil
	}
	var long []string
	args, marks := []any{database.EncodeText(sessionID)}, make([]string, len(ids))
	for i, id := range ids {
		args, marks[i] = append(args, database.EncodeText(id)), "$"+strconv.Itoa(i+2)
	}
	err := database.ReadEach(ctx, q, "read the messages of session "+sessionID, func(row database.Row) error {
		var id, native string
		err := row.Scan(&id, &native)
		messages[database.DecodeText(id)] = json.RawMessage(native)
		if native == "" {
			long = append(long, id)
		}
		return err
	}, `select message_id, native from runtime_messages where session_id = $1 and message_id in (`+strings.Join(marks, ", ")+`)`,
		args...)
	for _, id := range long {
		if err == nil {
			messages[database.DecodeText(id)], err = database.ReadParts(ctx, q, messageParts([]any{args[0], id}))
		}
	}
	return messages, err
}

// StoreMessage stores a message in its runtime's form. The details of entries describe all other items.
func StoreMessage(ctx context.Context, tx database.Tx, sessionID string, item runtime.Item) error {
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
		return nil // parts from an earlier version are not read
	}
	if err := database.DeleteParts(ctx, tx, parts); err != nil {
		return err
	}
	return database.WriteParts(ctx, tx, parts, database.Parts(item.Native))
}

// messageParts returns the key of a message's parts, given its key in runtime_messages.
func messageParts(key []any) database.PartKey {
	return database.PartKey{Table: "message_parts", Columns: []string{"session", "message"}, Values: key}
}

// StoreTools stores the tools of a new session.
func StoreTools(ctx context.Context, tx database.Tx, sessionID string, tools json.RawMessage) error {
	if len(tools) == 0 {
		tools = json.RawMessage("[]")
	}
	return UpdateSession(ctx, tx, sessionID, `dynamic_tools = $2`, database.EncodeText(string(tools)))
}
