package journal

import (
	"context"
	"fmt"

	"harness/database"
)

// BeforePrune adds what runs in every transaction that is about to delete the events below a position, for who refers to events.
func (j *Journal) BeforePrune(fn func(ctx context.Context, tx database.Tx, below int64) error) {
	j.publishing.Lock()
	defer j.publishing.Unlock()
	j.pruning = append(j.pruning, fn)
}

// Prune deletes the oldest events so that at most keep stay, and returns how many went. Readers with a cursor before the oldest kept
// position learn of the gap from Bounds.
func (j *Journal) Prune(ctx context.Context, keep int64) (deleted int64, err error) {
	const chunk = 2000
	j.publishing.Lock()
	hooks := j.pruning
	j.publishing.Unlock()
	for {
		var gone int64
		err := j.db.Update(ctx, func(tx database.Tx) error {
			var oldest int64
			pos, err := j.lockHead(ctx, tx)
			if err != nil {
				return err
			}
			if err := tx.QueryRowContext(ctx, `select oldest from journal_head where id = 1`).Scan(&oldest); err != nil {
				return fmt.Errorf("read the journal's oldest position: %w", err)
			}
			limit := min(pos-keep+1, oldest+chunk)
			if limit <= oldest {
				return nil
			}
			for _, before := range hooks {
				if err := before(ctx, tx, limit); err != nil {
					return err
				}
			}
			result, err := tx.ExecContext(ctx, `delete from journal_events where pos < $1`, limit)
			if err != nil {
				return fmt.Errorf("prune the journal: %w", err)
			}
			if _, err := tx.ExecContext(ctx, `update journal_head set oldest = $1 where id = 1`, limit); err != nil {
				return fmt.Errorf("move the journal's oldest position: %w", err)
			}
			gone, err = result.RowsAffected()
			return err
		})
		deleted += gone
		if err != nil || gone == 0 {
			return deleted, err
		}
	}
}
