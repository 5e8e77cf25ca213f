package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Snapshot runs fn on one state of the store: everything fn reads was true at the same moment, whatever is committed meanwhile. q must not
// be kept after fn returns, and fn must not wait for anything but the store: on SQLite its log cannot be moved into the database while
// somebody reads an old state.
func (db *DB) Snapshot(ctx context.Context, fn func(q Querier) error) error {
	var options *sql.TxOptions // a deferred transaction of SQLite keeps to what its first statement saw
	if db.engine == Postgres {
		options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := db.read.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	var q Querier = tx
	if db.reads != nil {
		q = preparedTx{tx, db.reads, new(int)}
		defer db.reads.prepare(ctx)
	}
	err = fn(q)
	if ended := tx.Rollback(); ended != nil && !errors.Is(ended, sql.ErrTxDone) && err == nil {
		return fmt.Errorf("end reading: %w", ended)
	}
	return err
}
