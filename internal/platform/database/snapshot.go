package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Snapshot runs fn on one consistent state of the store, unaffected by later commits. q is invalid after fn returns. fn
// must wait for nothing but the store: no checkpoint of SQLite's log is possible while a reader uses an old state.
func (db *DB) Snapshot(ctx context.Context, fn func(q Querier) error) error {
	var options *sql.TxOptions // a deferred SQLite transaction keeps the state that its first statement saw
	if db.engine == Postgres {
		options = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := db.read.BeginTx(ctx, options)
	if err != nil {
		return fmt.Errorf("begin reading: %w", err)
	}
	var q Querier = tx
	if db.reads != nil {
		q = preparedReads{tx, db.reads}
		defer db.reads.prepare(ctx)
	}
	err = fn(q)
	if gone := ctx.Err(); err != nil && gone != nil && !errors.Is(err, gone) {
		err = errors.Join(gone, err) // the driver reports only that the rows are closed
	}
	if ended := tx.Rollback(); ended != nil && !errors.Is(ended, sql.ErrTxDone) && err == nil {
		return fmt.Errorf("end reading: %w", ended)
	}
	if err == nil && db.reads != nil {
		return db.reads.awaitDurable(ctx)
	}
	return err
}

// preparedReads is a reading SQLite transaction that runs prepared statements where available.
//
// A started statement finishes whatever happens to the context. To observe the context, the driver would start a
// goroutine for every statement, which takes longer than the statement. The transaction itself still ends with its
// context.
type preparedReads struct {
	tx         *sql.Tx
	statements *statements
}

// QueryContext implements Querier.
func (t preparedReads) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if prepared := t.statements.find(query); prepared != nil {
		return t.tx.StmtContext(ctx, prepared).QueryContext(ctx, args...) //nolint:sqlclosecheck // the transaction closes its own
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext implements Querier.
func (t preparedReads) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if ctx.Err() == nil {
		ctx = context.WithoutCancel(ctx) // an ended context fails the row
	}
	if prepared := t.statements.find(query); prepared != nil {
		return t.tx.StmtContext(ctx, prepared).QueryRowContext(ctx, args...) //nolint:sqlclosecheck // the transaction closes its own
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}
