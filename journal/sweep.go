package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"harness/database"
)

// sweepRows is how many rows one transaction of a Sweep removes at most.
const sweepRows = 200

// Sweep removes rows in small transactions of their own, in order with all other changes: who writes comes in between.
// find lists the keys of up to limit of them; it only reads, and may take its time. remove is a unit that deletes those
// that are still to go, and says how many it did. Sweep ends when nothing is found or nothing removed, and returns how
// many rows went.
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

// SweepRows is Sweep of a table by one text column, its key. gone is the SQL condition of the rows that are to go, with
// its arguments.
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

// SweepEnded is SweepRows of those that ended, by a column of times (ms) that is 0 until then, before the age or behind
// the newest most; 0 for either keeps all. The key is id.
func (j *Journal) SweepEnded(ctx context.Context, q database.Querier, now time.Time, age time.Duration, most int,
	table, column string) (removed int64, err error) {
	before, err := Cutoff(ctx, q, now.UnixMilli(), age, most,
		`select `+column+` from `+table+` where `+column+` > 0 order by `+column+` desc, id desc`)
	if err != nil || before <= 0 {
		return 0, err
	}
	return j.SweepRows(ctx, table, "id", column+` > 0 and `+column+` < $1`, before)
}

func keysOf(ctx context.Context, q database.Querier, query string, args ...any) ([]any, error) {
	return database.ReadAll(ctx, q, "find what is to go", func(row database.Row) (any, error) {
		var key string
		err := row.Scan(&key)
		return key, err
	}, query, args...)
}

// Cutoff is the time (ms) before which rows are to go: by their age, and by their number, when there are more than
// most. times selects their times, the newest first. 0 for an age, or a number, keeps all; the time is 0 then.
func Cutoff(ctx context.Context, q database.Querier, now int64, age time.Duration, most int, times string) (
	before int64, err error) {
	if age > 0 {
		before = now - age.Milliseconds()
	}
	if most == 0 {
		return before, nil
	}
	var last int64
	err = q.QueryRowContext(ctx, times+` limit 1 offset $1`, most-1).Scan(&last)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, fmt.Errorf("find the oldest of the newest %d: %w", most, err)
	}
	return max(before, last), nil
}

// SweepSequences drops the counters of sessions that have no event left and of which a condition of the caller's, SQL
// about session_id, says that they are gone. Should one of them come again, it is counted from 1.
func (j *Journal) SweepSequences(ctx context.Context, gone string) (removed int64, err error) {
	return j.SweepRows(ctx, "journal_sequences", "session_id", `session_id <> '' and `+gone+
		` and not exists (select 1 from journal_events e where e.session_id = journal_sequences.session_id)`)
}

// letWriters leaves the store to others for as long as a transaction took, up to a second.
func letWriters(ctx context.Context, took time.Duration) error {
	timer := time.NewTimer(min(took, time.Second))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
