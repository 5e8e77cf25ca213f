package journal

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"harness/internal/platform/database"
)

// pruneChunk is the maximum number of events that one transaction prunes: few enough that writers wait only
// milliseconds.
const pruneChunk = 500

// pruning removes the oldest events.
type pruning struct {
	db       *database.DB
	now      func() time.Time
	archived bool // Options.Archived

	mu    sync.Mutex
	hooks []func(ctx context.Context, tx database.Tx, below int64) error
}

// BeforePrune adds a function for tables that refer to events. It runs in every transaction after which the events
// below a position are deleted.
func (p *pruning) BeforePrune(fn func(ctx context.Context, tx database.Tx, below int64) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hooks = append(p.hooks, fn)
}

// Prune deletes the oldest events so that at most keep remain, and returns how many it deleted. Readers with a cursor
// before the oldest kept position detect the gap with Bounds.
func (p *pruning) Prune(ctx context.Context, keep int64) (deleted int64, err error) {
	return p.prune(ctx, func(_ context.Context, _ database.Tx, _, head, limit int64) (int64, error) {
		return min(head-keep+1, limit), nil
	})
}

// clockSkew is how far (ms) in the future an event's time may be for the event to count as young. A time further ahead
// comes from a clock that was wrong.
const clockSkew = 24 * 3600 * 1000

// PruneBefore deletes the events before the first one that is not older than a time (ms), and returns how many. The
// newest event stays, so that an up-to-date client resumes without a gap.
func (p *pruning) PruneBefore(ctx context.Context, at int64) (deleted int64, err error) {
	return p.prune(ctx, func(ctx context.Context, tx database.Tx, oldest, head, limit int64) (int64, error) {
		var young sql.NullInt64
		err := tx.QueryRowContext(ctx,
			`select min(pos) from journal_events where pos >= $1 and pos < $2 and time >= $3 and time < $4`,
			oldest, limit, at, p.now().UnixMilli()+clockSkew).Scan(&young)
		if err != nil {
			return 0, fmt.Errorf("read the age of the journal's oldest events: %w", err)
		}
		if young.Valid {
			return young.Int64, nil
		}
		return min(limit, head), nil
	})
}

// prune moves the journal's start to the position that limit returns, until limit returns none. The position is between
// the oldest one and limit's argument. It returns how many events it deleted. The events are gone for all readers once
// that is committed, a short transaction that holds the head. Their rows are deleted afterwards without the head, so
// that no writer waits. If a process ends in between, the next pruning deletes the remaining rows.
func (p *pruning) prune(ctx context.Context, limit func(ctx context.Context, tx database.Tx, oldest, head, most int64) (
	int64, error)) (int64, error) {
	oldest, _, err := Bounds(ctx, p.db.Read())
	if err != nil {
		return 0, err
	}
	deleted, err := p.deleteRows(ctx, 0, oldest)
	for err == nil {
		began := time.Now()
		var from, below int64
		if from, below, err = p.moveOldest(ctx, limit); err != nil || below <= from {
			break
		}
		var gone int64
		if gone, err = p.deleteRows(ctx, from, below); err == nil {
			deleted += gone
			err = letWriters(ctx, time.Since(began))
		}
	}
	return deleted, err
}

// moveOldest makes the journal start at a position, after the tables that refer to earlier events have copied what they
// need. On Postgres it releases the head before the change survives. No row is deleted until it does; if it is lost,
// nothing was pruned.
func (p *pruning) moveOldest(ctx context.Context, limit func(ctx context.Context, tx database.Tx, oldest, head, most int64) (
	int64, error)) (oldest, below int64, err error) {
	p.mu.Lock()
	hooks := p.hooks
	p.mu.Unlock()
	moved, err := p.db.UpdateHolding(ctx, "", func(tx database.Tx, _ []int64) (last database.Last, err error) {
		var head int64
		if err := tx.QueryRowContext(ctx, `select pos, oldest from journal_head where id = 1`+p.db.LockClause()).
			Scan(&head, &oldest); err != nil {
			return last, fmt.Errorf("lock the journal head: %w", err)
		}
		below, err = limit(ctx, tx, oldest, head, oldest+pruneChunk)
		if err == nil && p.archived && below > oldest {
			var archived int64
			archived, err = ArchivedBelow(ctx, tx)
			below = min(below, archived)
		}
		if err != nil || below <= oldest {
			return last, err
		}
		for _, before := range hooks {
			if err := before(ctx, tx, below); err != nil {
				return last, err
			}
		}
		return database.Last{Query: `update journal_head set oldest = $1 where id = 1`, Args: []any{below}, Early: true}, nil
	})
	if err == nil {
		err = moved.Synced(ctx)
	}
	return oldest, below, err
}

// deleteRows deletes the rows of pruned events, from one position and below another.
func (p *pruning) deleteRows(ctx context.Context, from, below int64) (events int64, err error) {
	err = p.db.Update(ctx, func(tx database.Tx) error {
		if _, err := tx.ExecContext(ctx, `delete from journal_parts where pos >= $1 and pos < $2`, from, below); err != nil {
			return fmt.Errorf("prune the journal's long events: %w", err)
		}
		result, err := tx.ExecContext(ctx, `delete from journal_events where pos >= $1 and pos < $2`, from, below)
		if err != nil {
			return fmt.Errorf("prune the journal: %w", err)
		}
		events, err = result.RowsAffected()
		return err
	})
	return events, err
}
