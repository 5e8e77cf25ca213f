// Package database opens the store: SQLite in the data directory by default, Postgres when a URL is configured, both behind one SQL text.
//
// It owns connections, transactions and the few statements that differ between the engines. It must never know a table: every domain
// package owns its own SQL, written with $n placeholders, text ids, bigint milliseconds and JSON as text, so that it runs on both.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrCommit wraps a failed COMMIT. When the connection broke meanwhile, the transaction may have been committed all the same.
var ErrCommit = errors.New("commit failed")

// Querier is what a read needs; *sql.DB, *sql.Tx and *sql.Conn have it.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Tx is a write transaction. It must not be kept after the function it was handed to returns.
type Tx interface {
	Querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Engine names the database behind a DB.
type Engine string

// The engines.
const (
	SQLite   Engine = "sqlite"
	Postgres Engine = "postgres"
)

// DB is an open store. Writes go through Update, reads through Read; on SQLite these are one writer connection and a pool of readers.
type DB struct {
	engine Engine
	write  *sql.DB
	read   *sql.DB
	// writer is SQLite's, reads holds its readers' prepared statements; nil on Postgres, whose driver has its own.
	writer *writer
	reads  *statements
	// checkpoints is nil on Postgres.
	checkpoints *checkpointer
	// idle is how many connections Postgres' pool keeps while they are not in use.
	idle int
}

// Engine tells which database this is, for the few statements that differ.
func (db *DB) Engine() Engine { return db.engine }

// Read is the pool for reads outside a transaction. A read sees every write committed before it began.
func (db *DB) Read() Querier {
	if db.reads != nil {
		return reader{db.reads}
	}
	return db.read
}

// Raw is a *sql.DB for tools that need one (migrations): one connection beside the writer's on SQLite. Never use it while inside Update:
// SQLite has one write lock.
func (db *DB) Raw() *sql.DB { return db.write }

// Update runs fn in one write transaction and commits it. It returns fn's error after a rollback, or the commit's error. When ctx ends
// before the commit is begun, nothing is committed. On SQLite the transaction is immediate, so fn never fails half-way for want of the
// write lock; fn closes the rows it asked for.
func (db *DB) Update(ctx context.Context, fn func(tx Tx) error) error {
	if db.writer != nil {
		bytes, err := db.writer.update(ctx, fn)
		if err == nil {
			db.checkpoints.committed(bytes)
		}
		return err
	}
	err := db.updatePostgres(ctx, fn)
	if isReadOnly(err) {
		// Our connections are to a server that was demoted. Those opened from now on are to the one that took over, or to this one as it is
		// when it may be written again.
		db.write.SetMaxIdleConns(-1)
		db.write.SetMaxIdleConns(db.idle)
	}
	return err
}

func (db *DB) updatePostgres(ctx context.Context, fn func(tx Tx) error) error {
	tx, err := db.write.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := fn(tx); err != nil {
		if rollbackErr := tx.Rollback(); rollbackErr != nil && !errors.Is(rollbackErr, sql.ErrTxDone) {
			return errors.Join(err, fmt.Errorf("roll back: %w", rollbackErr))
		}
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("%w: %w", ErrCommit, err)
	}
	return nil
}

// Ping checks that the store answers.
func (db *DB) Ping(ctx context.Context) error {
	if err := db.read.PingContext(ctx); err != nil {
		return fmt.Errorf("database does not answer: %w", err)
	}
	return nil
}

// Close closes both pools. Calling it twice is allowed.
func (db *DB) Close() error {
	if db.read == db.write {
		return db.write.Close()
	}
	return errors.Join(db.checkpoints.close(), db.read.Close(), db.writer.close())
}
