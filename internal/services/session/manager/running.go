package manager

import (
	"context"
	"fmt"

	"harness/internal/platform/database"
)

// runningItem is an item of a runtime that has begun and not ended. One that outlives may go on when its turn is over.
type runningItem struct {
	sessionID, messageID, turnID, generation string
	outlives                                 bool
}

const runningColumns = `session_id, message_id, turn_id, generation, outlives`

// beginItem notes that an item runs, endItem that it ended.
func beginItem(ctx context.Context, tx database.Tx, nodeID string, item runningItem) error {
	_, err := tx.ExecContext(ctx,
		`insert into running_items (session_id, message_id, turn_id, generation, node_id, outlives)
		values ($1, $2, $3, $4, $5, $6) on conflict (session_id, message_id) do update set turn_id = excluded.turn_id,
			generation = excluded.generation, node_id = excluded.node_id, outlives = excluded.outlives`,
		database.EncodeText(item.sessionID), database.EncodeText(item.messageID), database.EncodeText(item.turnID),
		item.generation, nodeID, flag(item.outlives))
	if err != nil {
		return fmt.Errorf("note that item %s runs: %w", item.messageID, err)
	}
	return nil
}

func endItem(ctx context.Context, tx database.Tx, sessionID, messageID string) error {
	_, err := tx.ExecContext(ctx, `delete from running_items where session_id = $1 and message_id = $2`,
		database.EncodeText(sessionID), database.EncodeText(messageID))
	if err != nil {
		return fmt.Errorf("note that item %s ended: %w", messageID, err)
	}
	return nil
}

// runningOfSession lists the items that run in a session, runningOfNode those of a node's runtimes.
func runningOfSession(ctx context.Context, q database.Querier, sessionID string) ([]runningItem, error) {
	return queryRunning(ctx, q, `session_id = $1 order by message_id`,
		database.EncodeText(sessionID))
}

func runningOfNode(ctx context.Context, q database.Querier, nodeID string) ([]runningItem, error) {
	return queryRunning(ctx, q, `node_id = $1 order by session_id, message_id`, nodeID)
}

func queryRunning(ctx context.Context, q database.Querier, where string, args ...any) ([]runningItem, error) {
	return database.ReadAll(ctx, q, "read the items that run", func(row database.Row) (item runningItem, err error) {
		var outlives int64
		err = row.Scan(&item.sessionID, &item.messageID, &item.turnID, &item.generation, &outlives)
		for _, text := range []*string{&item.sessionID, &item.messageID, &item.turnID} {
			*text = database.DecodeText(*text)
		}
		item.outlives = outlives != 0
		return item, err
	}, `select `+runningColumns+` from running_items where `+where, args...)
}
