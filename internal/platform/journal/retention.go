package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Retention limits the age and the number of ended rows to keep; 0 keeps all.
type Retention struct {
	Age time.Duration
	Max int
}

// Pruner removes expired rows, as of Now, and calls Pruned with the count of each table.
type Pruner struct {
	Journal *Journal
	Now     time.Time
	Pruned  func(table string, rows int64)
}

// Ended names the ended rows of a table. Over is the condition of an ended row, At the column with its end (ms), Key
// the table's key. Only restricts which of them may be removed, "" for no restriction. All are SQL.
type Ended struct{ Table, Key, At, Over, Only string }

// Rows is Journal.SweepRows.
func (p Pruner) Rows(ctx context.Context, table, key, gone string, args ...any) error {
	rows, err := p.Journal.SweepRows(ctx, table, key, gone, args...)
	if rows > 0 {
		p.Pruned(table, rows)
	}
	return err
}

// Ended removes ended rows by age and by number, the oldest first.
func (p Pruner) Ended(ctx context.Context, keep Retention, e Ended) error {
	var before int64
	if keep.Age > 0 {
		before = p.Now.Add(-keep.Age).UnixMilli()
	}
	if keep.Max > 0 {
		var oldest int64
		err := p.Journal.db.Read().QueryRowContext(ctx, `select `+e.At+` from `+e.Table+` where `+e.Over+` order by `+e.At+
			` desc, `+e.Key+` desc limit 1 offset $1`, keep.Max-1).Scan(&oldest)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("find the oldest of the newest %d of %s: %w", keep.Max, e.Table, err)
		}
		before = max(before, oldest)
	}
	if before <= 0 {
		return nil
	}
	gone := e.Over + ` and ` + e.At + ` < $1`
	if e.Only != "" {
		gone += ` and ` + e.Only
	}
	return p.Rows(ctx, e.Table, e.Key, gone, before)
}
