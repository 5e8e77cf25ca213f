package journal

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"harness/internal/platform/database"
)

// sweepRows is the maximum number of rows that one transaction of a Sweep removes.
const sweepRows = 200

// Sweep removes rows in small separate transactions, in order with all other changes, so that other writers get their
// turn. find lists the keys of up to limit rows; it only reads, and may take long. remove is a unit that deletes the
// rows that still qualify, and returns how many it deleted. Sweep ends when find finds nothing or remove removes
// nothing, and returns how many rows it removed.
func (j *Journal) Sweep(ctx context.Context, find func(ctx context.Context, q database.Querier, limit int) (keys []any,
	err error),
	remove func(ctx context.Context, tx database.Tx, keys []any) (rows int64, events []Event, err error)) (removed int64,
	err error) {
	for {
		keys, err := find(ctx, j.db.Read(), sweepRows)
		if err != nil || len(keys) == 0 {
			return removed, err
		}
		var rows int64
		began := time.Now()
		_, err = j.Commit(ctx, func(ctx context.Context, tx database.Tx) (events []Event, err error) {
			rows, events, err = remove(ctx, tx, keys)
			return events, err
		})
		if err != nil {
			return removed, err
		}
		if removed += rows; rows == 0 {
			return removed, nil
		}
		if err := letWriters(ctx, time.Since(began)); err != nil {
			return removed, err
		}
	}
}

// SweepRows is Sweep of a table by one text column, its key. gone is the SQL condition of the rows to delete, with its
// arguments.
func (j *Journal) SweepRows(ctx context.Context, table, key, gone string, args ...any) (removed int64, err error) {
	find := func(ctx context.Context, q database.Querier, limit int) ([]any, error) {
		return keysOf(ctx, q, `select `+key+` from `+table+` where `+gone+` limit `+strconv.Itoa(limit), args...)
	}
	remove := func(ctx context.Context, tx database.Tx, keys []any) (int64, []Event, error) {
		marks := make([]string, len(keys))
		for i := range keys {
			marks[i] = "$" + strconv.Itoa(len(args)+i+1)
		}
		result, err := tx.ExecContext(ctx, `delete from `+table+` where `+key+` in (`+strings.Join(marks, ", ")+`) and `+gone,
			append(append([]any{}, args...), keys...)...)
		if err != nil {
			return 0, nil, err
		}
		rows, err := result.RowsAffected()
		return rows, nil, err
	}
	if removed, err = j.Sweep(ctx, find, remove); err != nil {
		return removed, fmt.Errorf("prune %s: %w", table, err)
	}
	return removed, nil
}

func keysOf(ctx context.Context, q database.Querier, query string, args ...any) ([]any, error) {
	return database.ReadAll(ctx, q, "find what is to go", func(row database.Row) (any, error) {
		var key string
		err := row.Scan(&key)
		return key, err
	}, query, args...)
}

// SweepSequences deletes the counters of sessions without events for which the caller's condition holds, SQL about
// session_id. A session that gets events again is counted from 1.
func (j *Journal) SweepSequences(ctx context.Context, gone string) (removed int64, err error) {
	return j.SweepRows(ctx, "journal_sequences", "session_id", `session_id <> '' and `+gone+
		` and not exists (select 1 from journal_events e where e.session_id = journal_sequences.session_id)`)
}

// letWriters pauses for as long as a transaction took, up to a second, so that others can write.
func letWriters(ctx context.Context, took time.Duration) error {
	select {
	case <-time.After(min(took, time.Second)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
