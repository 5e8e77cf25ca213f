package journal

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"harness/database"
)

// pruneChunk is how many events one transaction deletes at most: few enough that who wants to write meanwhile waits for
// milliseconds.
const pruneChunk = 500

// BeforePrune adds what runs in every transaction that is about to delete the events below a position, for who refers
// to events.
func (j *Journal) BeforePrune(fn func(ctx context.Context, tx database.Tx, below int64) error) {
	j.publishing.Lock()
	defer j.publishing.Unlock()
	j.pruning = append(j.pruning, fn)
}

// Prune deletes the oldest events so that at most keep stay, and returns how many went. Readers with a cursor before
// the oldest kept position learn of the gap from Bounds.
func (j *Journal) Prune(ctx context.Context, keep int64) (deleted int64, err error) {
	return j.prune(ctx, func(_ context.Context, _ database.Tx, _, head, limit int64) (int64, error) {
		return min(head-keep+1, limit), nil
	})
}

// clockSkew is how far (ms) in the future an event's time may be for it to count as young: one beyond comes from a
// clock that was wrong.
const clockSkew = 24 * 3600 * 1000

// PruneBefore deletes the events before the first one that is not older than a time (ms), and returns how many went.
// The newest event stays: who has heard all resumes without a gap.
func (j *Journal) PruneBefore(ctx context.Context, at int64) (deleted int64, err error) {
	return j.prune(ctx, func(ctx context.Context, tx database.Tx, oldest, head, limit int64) (int64, error) {
		var young sql.NullInt64
		err := tx.QueryRowContext(ctx,
			`select min(pos) from journal_events where pos >= $1 and pos < $2 and time >= $3 and time < $4`,
			oldest, limit, at, j.opts.Now().UnixMilli()+clockSkew).Scan(&young)
		if err != nil {
			return 0, fmt.Errorf("read the age of the journal's oldest events: %w", err)
		}
		if young.Valid {
			return young.Int64, nil
		}
		return min(limit, head), nil
	})
}

// prune deletes the events below the position that limit names, which is between the oldest one and the one it is
// given, until it names none.
func (j *Journal) prune(ctx context.Context, limit func(ctx context.Context, tx database.Tx, oldest, head, most int64) (
	int64, error)) (int64, error) {
	j.publishing.Lock()
	hooks := j.pruning
	j.publishing.Unlock()
	var deleted int64
	for {
		var gone int64
		began := time.Now()
		err := j.db.Update(ctx, func(tx database.Tx) error {
			gone = 0
			head, err := j.lockHead(ctx, tx)
			if err != nil {
				return err
			}
			var oldest int64
			if err := tx.QueryRowContext(ctx, `select oldest from journal_head where id = 1`).Scan(&oldest); err != nil {
				return fmt.Errorf("read the journal's oldest position: %w", err)
			}
			below, err := limit(ctx, tx, oldest, head, oldest+pruneChunk)
			if err == nil && j.opts.Archived && below > oldest {
				var archived int64
				archived, err = ArchivedBelow(ctx, tx)
				below = min(below, archived)
			}
			if err != nil || below <= oldest {
				return err
			}
			for _, before := range hooks {
				if err := before(ctx, tx, below); err != nil {
					return err
				}
			}
			if _, err := tx.ExecContext(ctx, `delete from journal_parts where pos < $1`, below); err != nil {
				return fmt.Errorf("prune the journal's long events: %w", err)
			}
			result, err := tx.ExecContext(ctx, `delete from journal_events where pos < $1`, below)
			if err != nil {
				return fmt.Errorf("prune the journal: %w", err)
			}
			if _, err := tx.ExecContext(ctx, `update journal_head set oldest = $1 where id = 1`, below); err != nil {
				return fmt.Errorf("move the journal's oldest position: %w", err)
			}
			gone, err = result.RowsAffected()
			return err
		})
		if err != nil {
			return deleted, err
		}
		if deleted += gone; gone == 0 {
			return deleted, nil
		}
		if err := letWriters(ctx, time.Since(began)); err != nil {
			return deleted, err
		}
	}
}
