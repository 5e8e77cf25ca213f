package extensions

import (
	"context"
	"fmt"
	"time"

	"harness/database"
	"harness/journal"
)

// keepRows is how long what was dispatched and acted on is remembered. An event or key that comes again after that is
// new.
const keepRows = 30 * 24 * time.Hour

// Retention is how long, and how many, records of reloads are kept; 0 keeps all.
type Retention struct {
	Age time.Duration
	Max int
}

// Prune removes what nobody will ask for any more, in small transactions, and tells pruned of what went by table. A
// dispatch that nobody took for as long as others are remembered is one of a node that did not come back.
func Prune(ctx context.Context, j *journal.Journal, q database.Querier, now time.Time, keep Retention,
	pruned func(table string, rows int64)) error {
	before := now.Add(-keepRows).UnixMilli()
	for _, one := range []struct{ table, key, gone string }{
		{"extension_actions", "key", `created_at < $1`},
		{"extension_dispatches", "key", `updated_at < $1`},
	} {
		rows, err := j.SweepRows(ctx, one.table, one.key, one.gone, before)
		if pruned(one.table, rows); err != nil {
			return err
		}
	}
	rows, err := j.Sweep(ctx, func(ctx context.Context, q database.Querier, _ int) ([]any, error) {
		return changedSessions(ctx, q, before)
	}, func(ctx context.Context, tx database.Tx, sessions []any) (rows int64, _ []journal.Event, err error) {
		for _, session := range sessions {
			result, err := tx.ExecContext(ctx, `delete from extension_file_changes where session_id = $1 and created_at < $2`,
				session, before)
			if err != nil {
				return 0, nil, fmt.Errorf("forget old file changes: %w", err)
			}
			gone, err := result.RowsAffected()
			if err != nil {
				return 0, nil, err
			}
			rows += gone
		}
		return rows, nil, nil
	})
	if pruned("extension_file_changes", rows); err != nil {
		return err
	}
	before, err = journal.Cutoff(ctx, q, now.UnixMilli(), keep.Age, keep.Max,
		`select recorded_at from extension_reloads order by recorded_at desc, reload_id desc`)
	if err != nil {
		return err
	}
	rows, err = j.SweepRows(ctx, "extension_reloads", "reload_id", `recorded_at < $1`, before)
	pruned("extension_reloads", rows)
	return err
}

// changedSessions lists some sessions with file changes from before a time (ms).
func changedSessions(ctx context.Context, q database.Querier, before int64) (sessions []any, err error) {
	const atOnce = 10
	return database.ReadAll(ctx, q, "look for old file changes", func(row database.Row) (any, error) {
		var session string // as it is stored
		err := row.Scan(&session)
		return session, err
	}, `select distinct session_id from extension_file_changes where created_at < $1 limit $2`, before, atOnce)
}
