package store

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// RunningItem is an unfinished item of a runtime. An item that outlives its turn may continue after it.
type RunningItem struct {
	SessionID, MessageID, TurnID, Generation string
	Outlives                                 bool
}

const runningColumns = `session_id, message_id, turn_id, generation, outlives`

// BeginItem records the start of an item.
func BeginItem(ctx context.Context, tx database.Tx, nodeID string, item RunningItem) error {
	_, err := tx.ExecContext(ctx,
		`insert into running_items (session_id, message_id, turn_id, generation, node_id, outlives)
		values ($1, $2, $3, $4, $5, $6) on conflict (session_id, message_id) do update set turn_id = excluded.turn_id,
			generation = excluded.generation, node_id = excluded.node_id, outlives = excluded.outlives`,
		database.EncodeText(item.SessionID), database.EncodeText(item.MessageID), database.EncodeText(item.TurnID),
		item.Generation, nodeID, Flag(item.Outlives))
	if err != nil {
		return fmt.Errorf("note that item %s runs: %w", item.MessageID, err)
	}
	return nil
}

// EndItem records the end of an item.
func EndItem(ctx context.Context, tx database.Tx, sessionID, messageID string) error {
	_, err := tx.ExecContext(ctx, `delete from running_items where session_id = $1 and message_id = $2`,
		database.EncodeText(sessionID), database.EncodeText(messageID))
	if err != nil {
		return fmt.Errorf("note that item %s ended: %w", messageID, err)
	}
	return nil
}

// RunningItems lists the running items of a session.
func RunningItems(ctx context.Context, q database.Querier, sessionID string) ([]RunningItem, error) {
	return queryRunning(ctx, q, `session_id = $1 order by message_id`,
		database.EncodeText(sessionID))
}

// RunningItemsOfNode lists the running items in sessions of a node.
func RunningItemsOfNode(ctx context.Context, q database.Querier, nodeID string) ([]RunningItem, error) {
	return queryRunning(ctx, q, `node_id = $1 order by session_id, message_id`, nodeID)
}

func queryRunning(ctx context.Context, q database.Querier, where string, args ...any) ([]RunningItem, error) {
	return database.ReadAll(ctx, q, "read the items that run", func(row database.Row) (item RunningItem, err error) {
		var outlives int64
		err = row.Scan(&item.SessionID, &item.MessageID, &item.TurnID, &item.Generation, &outlives)
		for _, text := range []*string{&item.SessionID, &item.MessageID, &item.TurnID} {
			*text = database.DecodeText(*text)
		}
		item.Outlives = outlives != 0
		return item, err
	}, `select `+runningColumns+` from running_items where `+where, args...)
}
