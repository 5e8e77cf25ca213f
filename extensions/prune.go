package extensions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"harness/internal/platform/database"
	"harness/internal/platform/journal"
)

// keepRows is the time for which finished dispatches and actions are kept. A repeated event or key after that time
// counts as new.
const keepRows = 30 * 24 * time.Hour

// Prune removes rows that are no longer needed, and reload records past their retention. A dispatch that stayed pending
// for the whole retention belongs to a node that did not return.
func Prune(ctx context.Context, p journal.Pruner, keep journal.Retention) error {
	before := p.Now.Add(-keepRows).UnixMilli()
	err := errors.Join(p.Rows(ctx, "extension_actions", "key", `created_at < $1`, before),
		p.Rows(ctx, "extension_dispatches", "key", `updated_at < $1`, before))
	if err != nil {
		return err
	}
	rows, err := p.Journal.Sweep(ctx, func(ctx context.Context, q database.Querier, _ int) ([]any, error) {
		return changedSessions(ctx, q, before)
	}, func(ctx context.Context, tx database.Tx, sessions []any) (rows int64, _ []journal.Event, err error) {
		for _, session := range sessions {
			result, err := tx.ExecContext(ctx, `delete from extension_file_changes where session_id = $1 and created_at < $2`,
				session, before)
			if err != nil {
				return 0, nil, fmt.Errorf("delete old file changes: %w", err)
			}
			gone, err := result.RowsAffected()
			if err != nil {
				return 0, nil, err
			}
			rows += gone
		}
		return rows, nil, nil
	})
	if rows > 0 {
		p.Pruned("extension_file_changes", rows)
	}
	if err != nil {
		return err
	}
	return p.Ended(ctx, keep, journal.Ended{Table: "extension_reloads", Key: "reload_id", At: "recorded_at",
		Over: "recorded_at > 0"})
}

// changedSessions lists some sessions with file changes older than a time (ms).
func changedSessions(ctx context.Context, q database.Querier, before int64) (sessions []any, err error) {
	const atOnce = 10
	return database.ReadAll(ctx, q, "find old file changes", func(row database.Row) (any, error) {
		var session string // in its stored form
		err := row.Scan(&session)
		return session, err
	}, `select distinct session_id from extension_file_changes where created_at < $1 limit $2`, before, atOnce)
}
