package search

import (
	"context"
	"fmt"
	"time"

	"harness/internal/platform/database"
)

const (
	// mergePages is the number of index pages that one SQLite transaction rewrites.
	mergePages = 64
	// cleanRest is the pause after cleaning, as a multiple of its duration.
	cleanRest = 20
	// stopPatience bounds how long Stop waits for cleaning.
	stopPatience = 2 * time.Second
)

// clean removes the words of deleted entries from SQLite's index, which keeps them until it is rewritten, and then from
// the store's log. It does nothing if nothing was deleted. It calls pause between two transactions.
func (x *Index) clean(ctx context.Context, pause func(took time.Duration)) error {
	db := x.opts.DB
	if db.Engine() != database.SQLite {
		return nil // Postgres does so during vacuum
	}
	var unclean int64
	if err := db.Read().QueryRowContext(ctx, `select unclean from search_state where id = 1`).Scan(&unclean); err != nil {
		return fmt.Errorf("read whether the search index is clean: %w", err)
	}
	if unclean == 0 {
		return nil
	}
	for {
		began := time.Now()
		more, err := x.merge(ctx)
		if err != nil {
			return fmt.Errorf("clean the search index: %w", err)
		}
		if !more {
			break
		}
		pause(time.Since(began))
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if emptied, err := db.EmptyLog(ctx); err != nil || !emptied {
		return err // the next run retries
	}
	err := db.Update(ctx, func(tx database.Tx) error {
		_, err := tx.ExecContext(ctx, `update search_state set unclean = 0 where id = 1`)
		return err
	})
	if err != nil {
		return fmt.Errorf("record that the search index is clean: %w", err)
	}
	return nil
}

// merge rewrites some of the index and reports whether more remains.
func (x *Index) merge(ctx context.Context) (more bool, err error) {
	err = x.opts.DB.Update(ctx, func(tx database.Tx) error {
		const structure = `select hex(block) from search_words_data where id = 10`
		var before, after string
		if err := tx.QueryRowContext(ctx, structure).Scan(&before); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `insert into search_words (search_words, rank) values ('merge', $1)`, -mergePages); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, structure).Scan(&after); err != nil {
			return err
		}
		more = before != after
		return nil
	})
	return more, err
}
